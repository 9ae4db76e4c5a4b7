"""Packages that only an extra brings: the table is that of the distribution, and each of them is
asked for by name.
"""

import importlib.metadata

import pytest
from packaging.requirements import Requirement

from rnnsearch_tf.runtime import optional as extras
from rnnsearch_tf.errors import UserError


@pytest.mark.parametrize("module", extras.PACKAGES)
def test_an_extra_brings_its_package(module):
    """As the installed distribution says; sil-thot comes as an extra of sil-machine."""
    package, extra = extras.PACKAGES[module]
    requirements = [Requirement(text) for text in importlib.metadata.requires("rnnsearch-tf")]
    brought = set()
    for requirement in requirements:
        if (
            requirement.marker
            and requirement.marker.evaluate({"extra": extra})
            and not requirement.marker.evaluate({"extra": ""})
        ):
            brought |= {requirement.name, *(f"sil-{name}" for name in requirement.extras)}
    assert package in brought
    if extras.has(module):
        assert package in importlib.metadata.packages_distributions()[module]


def test_every_missing_package_is_named_and_one_is_enough(monkeypatch):
    monkeypatch.setitem(extras.PACKAGES, "no_such_module", ("no-such-package", "some"))
    assert extras.has("json", "csv") and not extras.has("json", "no_such_module")
    extras.require("reading", "json", "csv")
    with pytest.raises(
        UserError,
        match=(
            r"^reading: expected the package no-such-package, found none; pip install"
            r' "rnnsearch-tf\[some\]"$'
        ),
    ):
        extras.require("reading", "json", "no_such_module")
