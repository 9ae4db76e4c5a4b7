"""What the package takes of libraries beyond their public interface is still as it was.

A test that fails here names the library and its installed version; the file of ``runtime`` that
takes the part says why, and with which version it was tried. What the server takes is tested by its
use, in tests/serving.
"""

import importlib.metadata
import inspect
import sys
import warnings

import pytest

from rnnsearch_tf.runtime import tensorflow
from rnnsearch_tf.runtime.backend import keras


def says(library, what):
    return f"{library} {importlib.metadata.version(library)}: {what}"


def require(library, owner, *names):
    """Fail if the library's object lacks one of these names."""
    for name in names:
        assert hasattr(owner, name), says(library, f"{owner} has no {name} any more")


@pytest.mark.parametrize("name", ["Adadelta", "Adam"])
def test_keras_keeps_the_variables_of_every_weight(name):
    from rnnsearch_tf.runtime import keras_internals as internals

    attributes = {"Adadelta": internals.ADADELTA_AVERAGES, "Adam": internals.ADAM_MOMENTS}[name]

    optimizer = getattr(keras.optimizers, name)()
    require("keras", optimizer, "_get_variable_index")
    weights = [keras.Variable([1.0]), keras.Variable([1.0, 2.0, 3.0])]
    optimizer.build(weights)
    require("keras", optimizer, *attributes)
    for weight in weights:
        pair = internals.variables_of(optimizer, weight, attributes)
        assert [each.shape for each in pair] == [weight.shape] * 2 and all(
            any(each is variable for variable in optimizer.variables) for each in pair
        ), says("keras", f"{name} keeps its variables elsewhere")


def test_keras_asks_every_layer_whether_xla_may_compile_it():
    from rnnsearch_tf.runtime.keras_internals import BuiltModel

    compiled = []
    for model in (keras.Sequential([keras.layers.Dense(1)]), keras.Sequential([BuiltModel()])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.jit_compile = True
        compiled.append(model.jit_compile)
    assert compiled == [True, False], says("keras", "supports_jit is not what decides on XLA")


def test_keras_builds_a_model_by_the_replaced_method():
    for name in ("fit", "evaluate", "train_on_batch", "test_on_batch"):
        code = inspect.unwrap(getattr(keras.Model, name)).__code__
        assert "_maybe_symbolic_build" in code.co_names, says("keras", f"{name} builds otherwise")


def test_unused_packages_are_hidden_during_the_import_only(monkeypatch):
    monkeypatch.setattr(tensorflow, "UNUSED", ["email.mime.audio"])
    monkeypatch.delitem(sys.modules, "email.mime.audio", raising=False)
    with tensorflow._fast(), pytest.raises(ImportError):
        importlib.import_module("email.mime.audio")
    assert importlib.import_module("email.mime.audio")
