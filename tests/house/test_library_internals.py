"""What the package takes of libraries beyond their public interface is still as it was.

A test that fails here names the library and its installed version; the file that takes the part
says why, and with which version it was tried. What
the server takes is tested only by its use, in tests/serving.
"""

import ast
import importlib.metadata
import inspect
import pathlib
import re
import warnings

import pytest

from rnnsearch_tf.runtime.backend import keras

PACKAGE = pathlib.Path(__file__).parents[2] / "rnnsearch_tf"

TAKEN_IN = {
    "extras/hub/tokenizer.py": {"_add_special_token", "_update_special_token_ids"},
    "runtime/keras_internals.py": {"_get_variable_index"},
    "text/subwords.py": {
        "_SentencepieceModelResource",
        "_model_resource",
        "tensorflow_text.python.ops.sentencepiece_tokenizer",
    },
}
"""Private names that each file takes."""

PUBLIC = {"_asdict", "_exit", "_make", "_replace"}
"""Documented in spite of their underscore."""


def says(library, what):
    return f"{library} {importlib.metadata.version(library)}: {what}"


def require(library, owner, *names):
    """Fail if the library's object lacks one of these names."""
    for name in names:
        assert hasattr(owner, name), says(library, f"{owner} has no {name} any more")


def trees():
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith("extras/server/"):
            yield name, list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def own_names(nodes):
    """Names that code defines: functions, classes, variables, and attributes of ``self``."""
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and ast.unparse(node.value) == "self"
        ):
            yield node.attr


def private_names(nodes, own):
    """Private names of others that code reads, and private modules that it imports."""
    for node in nodes:
        if isinstance(node, ast.Attribute):
            if node.attr.startswith("_") and not node.attr.endswith("__"):
                if node.attr not in own | PUBLIC:
                    yield node.attr
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            module = getattr(node, "module", None)
            for alias in node.names:
                name = f"{module}.{alias.name}" if module else alias.name
                if re.search(r"\.src\.|^tensorflow(_text)?\.python\.|^(?!rnnsearch_tf).*\._", name):
                    yield name


def test_private_parts_of_libraries_are_taken_in_few_files():
    """A private name is a library's if the package nowhere defines it. A method that replaces a
    library's is not seen here.
    """
    files = dict(trees())
    own = {name for nodes in files.values() for name in own_names(nodes)}
    taken = {name: {*private_names(nodes, own)} for name, nodes in files.items()}
    assert {name: names for name, names in taken.items() if names} == TAKEN_IN


def test_raw_operations_are_taken_in_one_file():
    taken = {
        name
        for name, nodes in trees()
        for node in nodes
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "tf.raw_ops"
    }
    assert taken == {"runtime/tensorflow_internals.py"}


# ---- Keras ----


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
