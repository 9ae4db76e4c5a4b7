"""Check that a stock server has all operations of an exported model."""

from __future__ import annotations

import os
import pathlib

from rnnsearch_tf.errors import UserError

PYTHON_OPERATIONS = ("PyFunc", "PyFuncStateless", "EagerPyFunc")
"""TensorFlow operations that call the Python process that created them."""


def operations(folder: str | os.PathLike[str]) -> set[str]:
    """Names of all operations of a SavedModel, including those inside its functions.

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


def check_operations(folder: str | os.PathLike[str]) -> None:
    """Refuse a SavedModel that a stock server cannot run.

    Args:
        folder: path of the SavedModel.

    Raises:
        UserError: an operation is neither in TensorFlow nor in tensorflow_text, or needs Python.
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


def _text_operations() -> set[str]:
    """Names of the operations in tensorflow_text's libraries (`A>B` is `A_B` in Python).

    That they lie in this folder is not documented. Tried with tensorflow_text 2.21.1, and tested by
    tests/house/test_library_internals.py.
    """
    import tensorflow as tf
    import tensorflow_text

    libraries = (pathlib.Path(tensorflow_text.__file__).parent / "python" / "ops").glob("_*.so")
    return {
        name
        for library in libraries
        for name in dir(tf.load_op_library(str(library)))
        if name[0].isupper()
    }
