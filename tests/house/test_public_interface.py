"""What ``import rnnsearch_tf`` offers: everything named, nothing loaded before it is used."""

import inspect
import subprocess
import sys
import typing

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


def test_star_imports_what_is_public():
    names = {}
    exec("from rnnsearch_tf import *", names)
    assert set(names) - {"__builtins__"} == set(rnnsearch_tf.__all__)


def test_an_unknown_name_says_what_there_is():
    with pytest.raises(AttributeError, match="'translater'.*Translator"):
        rnnsearch_tf.translater


KERAS_OWN = {
    "build",
    "call",
    "compile",
    "compile_from_config",
    "evaluate",
    "export",
    "fit",
    "from_config",
    "get_config",
    "test_step",
    "train_step",
}


def public_functions():
    for name in rnnsearch_tf.__all__:
        value = getattr(rnnsearch_tf, name)
        if inspect.isfunction(value):
            yield name, value
            continue
        for key, member in vars(value).items():
            function = getattr(member, "__func__", member)
            if (
                inspect.isfunction(function)
                and (key == "__init__" or not key.startswith("_"))
                and key not in KERAS_OWN
            ):
                yield f"{name}.{key}", function


@pytest.mark.parametrize(
    "name, function", [pytest.param(*pair, id=pair[0]) for pair in public_functions()]
)
def test_what_is_public_has_type_hints(name, function):
    """Every argument but those that may be nests of tensors, and the result."""
    hints = typing.get_type_hints(function)
    nests = {
        "self",
        "cls",
        "state",
        "memory",
        "output",
        "model",
        "runs",
        "source_ids",
        "sentences",
        "system",
    }
    arguments = [
        p.name
        for p in inspect.signature(function).parameters.values()
        if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    ]
    missing = [
        argument for argument in arguments if argument not in hints and argument not in nests
    ]
    assert not missing and ("return" in hints or name.endswith("__init__")), missing
