"""What a stock server can run: the operations of TensorFlow and of tensorflow_text."""

from __future__ import annotations

import pathlib

from rnnsearch_tf.errors import UserError

PYTHON_OPERATIONS = ("PyFunc", "PyFuncStateless", "EagerPyFunc")
"""TensorFlow's own by name, but they call back into the Python process that made them."""


def operations(folder) -> set:
    """Names of all operations of a SavedModel, those inside its functions too.

    Args:
        folder: path of the SavedModel.
    """
    from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

    graphs = SavedModel.FromString(
        (pathlib.Path(folder) / "saved_model.pb").read_bytes()
    ).meta_graphs
    names = {node.op for graph in graphs for node in graph.graph_def.node}
    functions = {
        function.signature.name for graph in graphs for function in graph.graph_def.library.function
    }
    names |= {
        node.op
        for graph in graphs
        for function in graph.graph_def.library.function
        for node in function.node_def
    }
    return names - functions


def check_operations(folder) -> None:
    """Refuse a SavedModel that a stock server cannot run.

    Args:
        folder: path of the SavedModel.

    Raises:
        UserError: naming every operation that neither TensorFlow nor tensorflow_text has, or that
            needs Python.
    """
    import tensorflow as tf

    names = operations(folder)
    unknown = {name for name in names if not hasattr(tf.raw_ops, name)}
    if unknown:
        in_python = {name: name.replace(">", "_") for name in unknown}
        unknown -= {
            name for name, attribute in in_python.items() if attribute in _text_operations()
        }
    unknown |= names & set(PYTHON_OPERATIONS)
    if unknown:
        raise UserError(
            f"{folder}: expected only operations of TensorFlow and tensorflow_text, which the stock"
            f" server has, got {', '.join(sorted(unknown))}; write these parts of the model in core"
            " operations"
        )


def _text_operations() -> set:
    """Names of the operations in tensorflow_text's libraries (`A>B` is `A_B` in Python)."""
    import tensorflow as tf
    import tensorflow_text

    libraries = (pathlib.Path(tensorflow_text.__file__).parent / "python" / "ops").glob("_*.so")
    return {
        name
        for library in libraries
        for name in dir(tf.load_op_library(str(library)))
        if name[0].isupper()
    }
