"""Run an exported model in a session that loads a signature when it is first used.

Half of a cold start with a whole SavedModel is spent on unused signatures and on optimizing graphs
that run once. Here, a signature adds only its own functions to the session, without optimization;
later answers are as fast (benchmarks/startup.py).

TensorFlow loads only whole SavedModels, so this reads how it stores them: the functions, the name
of the initialization, and the settings in every call. Tried with TensorFlow 2.21.0, and tested by
tests/house/test_library_internals.py.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  its operations
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import saved_model_pb2

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.export.session import SessionModel


_INITIALIZE = "__saved_model_init_op"


class LazySession(SessionModel):
    """A SavedModel written by this package (so without assets), loaded signature by signature.

    Args:
        folder: path of the SavedModel, the version's folder.

    Raises:
        UserError, tf.errors.OpError: a file is missing or damaged.

    Example::

        LazySession("served/1")("translate", text=["the red car"])["translation"]
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        folder = pathlib.Path(folder)
        saved = saved_model_pb2.SavedModel()
        try:
            saved.ParseFromString((folder / "saved_model.pb").read_bytes())
        except (OSError, DecodeError) as error:
            raise UserError(
                f"{folder / 'saved_model.pb'}: expected the graph of a SavedModel, got: {error};"
                " export it again"
            ) from None
        self._saved = saved.meta_graphs[0]
        self.signatures = self._saved.signature_def
        self._functions: dict[str, Any] = {}  # FunctionDefs by name
        settings = _without_optimization()
        for function in self._saved.graph_def.library.function:
            _call_with(function.node_def, settings)
            self._functions[function.signature.name] = function
        _call_with(self._saved.graph_def.node, settings)
        self._session = tf.compat.v1.Session(graph=tf.Graph(), config=settings)
        saver = self._saved.saver_def
        initialize = self.signatures[_INITIALIZE].outputs[_INITIALIZE].name
        self._add_to_graph([saver.filename_tensor_name, saver.restore_op_name, initialize])
        self._session.run(
            saver.restore_op_name,
            {saver.filename_tensor_name: str(folder / "variables" / "variables")},
        )
        self._session.run(initialize)
        self._loaded: set[str] = set()

    def __call__(self, signature: str, **inputs: Any) -> dict[str, np.ndarray]:
        """Answer a request: {output: array}; string outputs are arrays of bytes."""
        if signature not in self._loaded:
            definition = self.signatures[signature]
            self._add_to_graph(
                [
                    each.name
                    for side in (definition.inputs, definition.outputs)
                    for each in side.values()
                ]
            )
            self._loaded.add(signature)
        return super().__call__(signature, **inputs)

    def _add_to_graph(self, names: Iterable[str]) -> None:
        """Add these tensors and operations to the session's graph, with all that they depend on."""
        graph = self._session.graph
        present = {operation.name for operation in graph.get_operations()}
        saved = self._saved.graph_def
        needed = _needed(saved.node, names) - present
        new = tf.compat.v1.GraphDef(
            versions=saved.versions, node=[node for node in saved.node if node.name in needed]
        )
        new.library.function.extend(self._functions[name] for name in self._called(new.node))
        shared = {name for node in new.node for name in node.input if name.split(":")[0] in present}
        with graph.as_default():
            tf.graph_util.import_graph_def(
                new,
                name="",
                input_map={name: graph.get_tensor_by_name(_tensor(name)) for name in shared},
            )

    def _called(self, nodes: Iterable[tf.compat.v1.NodeDef]) -> list[str]:
        """Names of the functions that the nodes call, directly or indirectly."""
        called: set[str] = set()
        waiting = list(_functions_of(nodes))
        while waiting:
            name = waiting.pop()
            if name in self._functions and name not in called:
                called.add(name)
                waiting += _functions_of(self._functions[name].node_def)
        return sorted(called)


def _tensor(name: str) -> str:
    return name if ":" in name else f"{name}:0"


def _needed(nodes: Iterable[tf.compat.v1.NodeDef], names: Iterable[str]) -> set[str]:
    """Names of these nodes and of all that they depend on, as TensorFlow's `extract_sub_graph`,
    which warns that it is deprecated.
    """
    inputs = {node.name: node.input for node in nodes}
    needed: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop().lstrip("^").split(":")[0]
        if name not in needed:
            needed.add(name)
            waiting += inputs[name]
    return needed


def _functions_of(nodes: Iterable[tf.compat.v1.NodeDef]) -> Iterator[str]:
    """Names of the operations of the nodes, and of the functions in their attributes."""
    for node in nodes:
        yield node.op
        for attribute in node.attr.values():
            yield from (function.name for function in (attribute.func, *attribute.list.func))


def _call_with(nodes: Iterable[tf.compat.v1.NodeDef], settings: tf.compat.v1.ConfigProto) -> None:
    """Replace the settings in all function calls among the nodes, which are those of tracing."""
    for node in nodes:
        if node.op in ("PartitionedCall", "StatefulPartitionedCall"):
            node.attr["config_proto"].s = settings.SerializeToString()


def _without_optimization() -> tf.compat.v1.ConfigProto:
    settings = tf.compat.v1.ConfigProto()
    settings.graph_options.rewrite_options.disable_meta_optimizer = True
    settings.graph_options.optimizer_options.opt_level = -1  # none
    return settings
