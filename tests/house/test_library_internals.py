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
import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras

PACKAGE = pathlib.Path(__file__).parents[2] / "rnnsearch_tf"

TAKEN_IN = {
    "extras/hub/tokenizer.py": {"_add_special_token", "_update_special_token_ids"},
    "runtime/keras_internals.py": {
        "_aggregation",
        "_clear_losses",
        "_flatten_layers",
        "_get_variable_index",
        "_iterations",
        "_trainable_variables",
    },
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


def test_keras_updates_by_the_replaced_steps():
    from rnnsearch_tf.runtime.keras_internals import OptimizerSteps

    noted = []

    class Noted(OptimizerSteps, keras.optimizers.SGD):
        def _clip_gradients(self, grads):
            noted.append("clip")
            return super()._clip_gradients(grads)

        def _backend_update_step(self, *arguments):
            noted.append("update")
            super()._backend_update_step(*arguments)

    weight = keras.Variable([1.0])
    optimizer = Noted(1.0, clipvalue=0.5)
    optimizer.apply([tf.constant([3.0])], [weight])
    assert optimizer.clip([tf.constant([3.0])])[0].numpy().tolist() == [0.5]
    assert (noted, weight.numpy().tolist()) == (["clip", "update"], [-2.0]), says(
        "keras", "an optimizer takes other steps"
    )


@pytest.mark.parametrize("name", ["Adadelta", "Adam"])
def test_keras_keeps_the_variables_of_every_weight(name):
    from rnnsearch_tf.runtime import keras_internals as internals

    attributes = {"Adadelta": internals.ADADELTA_AVERAGES, "Adam": internals.ADAM_MOMENTS}[name]

    class Optimizer(internals.OptimizerSteps, getattr(keras.optimizers, name)):
        pass

    optimizer = Optimizer()
    require("keras", optimizer, "_trainable_variables", "_get_variable_index")
    require("keras", keras.optimizers.Optimizer, "_clip_gradients")
    weights = [keras.Variable([1.0]), keras.Variable([1.0, 2.0, 3.0])]
    optimizer.build(weights)
    assert list(optimizer.weights_when_built) == weights, says("keras", "the weights are elsewhere")
    require("keras", optimizer, *attributes)
    for weight in weights:
        pair = optimizer.variables_of(weight, attributes)
        assert [each.shape for each in pair] == [weight.shape] * 2 and all(
            any(each is variable for variable in optimizer.variables) for each in pair
        ), says("keras", f"{name} keeps its variables elsewhere")


def test_keras_counts_updates_in_a_variable_that_can_be_each_replicas_own():
    from rnnsearch_tf.runtime.keras_internals import OptimizerSteps

    class Optimizer(OptimizerSteps, keras.optimizers.SGD):
        pass

    optimizer = Optimizer()
    counter = optimizer.iterations.value
    assert counter.aggregation == tf.VariableAggregation.ONLY_FIRST_REPLICA, says(
        "keras", "count_in_every_replica is not needed any more"
    )
    optimizer.count_in_every_replica()
    assert counter.aggregation == tf.VariableAggregation.NONE, says(
        "keras", "the counter's aggregation cannot be set"
    )


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


def test_keras_lists_layers_in_layers():
    from rnnsearch_tf.runtime.keras_internals import BuiltModel

    inner = keras.layers.Dropout(0.5)
    model = BuiltModel()
    model.block = keras.Sequential([inner])
    require("keras", model, "_flatten_layers")
    assert inner in model.all_layers() and inner not in model.layers, says(
        "keras", "the list of all layers is another"
    )


def test_keras_traces_a_layer_and_shows_its_output_shape():
    from rnnsearch_tf.runtime.keras_internals import BuiltModel, TracedLayer

    class Untraced(keras.layers.Layer):
        output_size = 3

        def compute_output_shape(self, shape):
            return (*shape[:-1], 3)

        def build(self, shape):
            self.built = True

        def call(self, x):
            return tf.cast(tf.repeat(x[..., :1], 3, axis=-1), tf.float32)

    class Traced(TracedLayer, Untraced):
        pass

    x = keras.Input((None, 2))
    dtypes = [kind(dtype="mixed_bfloat16")(x).dtype for kind in (Untraced, Traced)]
    assert dtypes == ["bfloat16", "float32"], says(
        "keras", "the dtype of a layer's result is found otherwise"
    )
    model = BuiltModel()
    model.layer = Traced()
    model.layer.build((7, 5, 2))
    model.built = True
    lines = []
    model.summary(print_fn=lambda line, **_: lines.append(line))
    assert "(None, None, 3)" in "\n".join(lines), says("keras", "summary shows another shape")
