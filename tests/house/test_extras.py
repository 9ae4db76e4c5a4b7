"""Packages that only an extra brings: the table is that of the distribution, and each of them is
asked for by name.
"""

import importlib.metadata

import pytest
from packaging.requirements import Requirement

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.runtime.optional import EXTRA_OF, require


@pytest.mark.parametrize("package, extra", EXTRA_OF.items())
def test_an_extra_brings_its_package(package, extra):
    requirements = [Requirement(text) for text in importlib.metadata.requires("rnnsearch-tf")]
    brought = {
        requirement.name
        for requirement in requirements
        if requirement.marker
        and requirement.marker.evaluate({"extra": extra})
        and not requirement.marker.evaluate({"extra": ""})
    }
    assert package in brought


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(EXTRA_OF, "no_such_package", "some")
    with pytest.raises(UserError, match=r'^reading: .* no_such_package, .*"rnnsearch-tf\[some\]"$'):
        require("reading", "json", "no_such_package")
