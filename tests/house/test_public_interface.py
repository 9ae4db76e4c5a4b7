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
import typing
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


def test_public_modules_need_no_import_of_their_own():
    places = {"layers": "layers", "search": "search", "evaluation": "evaluation"}
    places |= {"hub": "extras.hub", "models": "models"}
    printed = ", ".join(f"rnnsearch_tf.{name}.__name__" for name in places)
    found = run(f"import rnnsearch_tf; print({printed})")
    assert found == [f"rnnsearch_tf.{place}" for place in places.values()]


def test_a_configuration_needs_no_tensorflow():
    code = """
import sys
import rnnsearch_tf as rt
config = rt.load_config(values={"model": {"hidden_size": 8}})
print(isinstance(config, rt.Config), "tensorflow" in sys.modules, "keras" in sys.modules)
import rnnsearch_tf.runtime.backend
import keras
rt.load_config
print(keras.saving.get_registered_object("rnnsearch_tf>RNNSearch").__name__)
"""
    assert run(code) == ["True", "False", "False", "RNNSearch"]


def test_an_unknown_name_says_what_there_is():
    with pytest.raises(AttributeError, match="'translater'.*Translator"):
        rnnsearch_tf.translater
