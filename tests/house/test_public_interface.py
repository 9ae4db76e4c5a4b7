"""What ``import rnnsearch_tf`` offers: everything named, nothing loaded before it is used."""

import subprocess
import sys

import pytest
import rnnsearch_tf


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_importing_loads_the_standard_library_only_and_hooks_nothing():
    code = """
import sys
hooks, before = list(sys.meta_path), set(sys.modules)
import rnnsearch_tf
dir(rnnsearch_tf)
added = {name.split(".")[0] for name in set(sys.modules) - before}
print(*(added - set(sys.stdlib_module_names)), sys.meta_path == hooks)
"""
    assert run(code) == ["rnnsearch_tf", "True"]


@pytest.mark.parametrize("name", rnnsearch_tf.__all__)
def test_a_public_name_is_there_and_documented(name):
    value = getattr(rnnsearch_tf, name)
    assert value.__name__ == name and value.__module__.startswith("rnnsearch_tf.")
    assert value.__doc__ and value.__doc__.strip()
    assert name in dir(rnnsearch_tf)


@pytest.mark.parametrize("name", ["layers", "search", "evaluation"])
def test_public_modules_need_no_import_of_their_own(name):
    assert run(f"import rnnsearch_tf; print(rnnsearch_tf.{name}.__name__)") == [f"rnnsearch_tf.{name}"]


def test_star_imports_what_is_public():
    names = {}
    exec("from rnnsearch_tf import *", names)
    assert set(names) - {"__builtins__"} == set(rnnsearch_tf.__all__)


def test_an_unknown_name_says_what_there_is():
    with pytest.raises(AttributeError, match="'translater'.*Translator"):
        rnnsearch_tf.translater
