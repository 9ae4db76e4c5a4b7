"""An exported model in a session that takes in a signature when it is first asked for.

Half of a cold start with a whole SavedModel is for signatures that are not used and for optimizing
graphs that are used once. Here each signature brings its own functions only, and none is optimized:
measured in benchmarks/startup.py; later answers are as fast.
"""

from __future__ import annotations

import pathlib

import tensorflow as tf
import tensorflow_text  # noqa: F401  its operations
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import saved_model_pb2

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.export.session import SessionModel


class LazySession(SessionModel):
    """Signatures of a SavedModel that this package wrote (it has no assets), by name.

    Args:
        folder: path of the SavedModel, the version's folder.

    Raises:
        UserError, tf.errors.OpError: a file is missing or damaged.

    Example::

        LazySession("served/1")("translate", text=["the red car"])["translation"]
    """

    def __init__(self, folder):
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
        self._functions = {}
        settings = _without_optimization()
        for function in self._saved.graph_def.library.function:
            _call_with(function.node_def, settings)
            self._functions[function.signature.name] = function
        _call_with(self._saved.graph_def.node, settings)
        self._session = tf.compat.v1.Session(graph=tf.Graph(), config=settings)
        saver = self._saved.saver_def
        begin = "__saved_model_init_op"
        begin = self.signatures[begin].outputs[begin].name
        self._take_in([saver.filename_tensor_name, saver.restore_op_name, begin])
        self._session.run(
            saver.restore_op_name,
            {saver.filename_tensor_name: str(folder / "variables" / "variables")},
        )
        self._session.run(begin)
        self._taken = set()

    def __call__(self, signature, **inputs) -> dict:
        """{output: array} of one request; string outputs are arrays of bytes."""
        if signature not in self._taken:
            definition = self.signatures[signature]
            self._take_in(
                [
                    each.name
                    for side in (definition.inputs, definition.outputs)
                    for each in side.values()
                ]
            )
            self._taken.add(signature)
        return super().__call__(signature, **inputs)

    def _take_in(self, names):
        """Add to the session's graph what these tensors and operations are computed from and is not
        there yet.
        """
        graph = self._session.graph
        there = {operation.name for operation in graph.get_operations()}
        part = tf.compat.v1.graph_util.extract_sub_graph(
            self._saved.graph_def, [name.split(":")[0] for name in names]
        )
        new = tf.compat.v1.GraphDef(
            versions=part.versions, node=[node for node in part.node if node.name not in there]
        )
        new.library.function.extend(self._functions[name] for name in self._called(new.node))
        shared = {name for node in new.node for name in node.input if name.split(":")[0] in there}
        with graph.as_default():
            tf.graph_util.import_graph_def(
                new,
                name="",
                input_map={name: graph.get_tensor_by_name(_tensor(name)) for name in shared},
            )

    def _called(self, nodes):
        """Names of the functions that the nodes call, and those functions in their turn."""
        called = set()
        waiting = list(_functions_of(nodes))
        while waiting:
            name = waiting.pop()
            if name in self._functions and name not in called:
                called.add(name)
                waiting += _functions_of(self._functions[name].node_def)
        return sorted(called)


def _tensor(name):
    return name if ":" in name else f"{name}:0"


def _functions_of(nodes):
    for node in nodes:
        yield node.op
        for attribute in node.attr.values():
            yield from (function.name for function in (attribute.func, *attribute.list.func))


def _call_with(nodes, settings):
    """Let every call among the nodes prepare its function with these settings; each has its own, of
    when it was traced.
    """
    for node in nodes:
        if node.op in ("PartitionedCall", "StatefulPartitionedCall"):
            node.attr["config_proto"].s = settings.SerializeToString()


def _without_optimization():
    settings = tf.compat.v1.ConfigProto()
    settings.graph_options.rewrite_options.disable_meta_optimizer = True
    settings.graph_options.optimizer_options.opt_level = -1  # none
    return settings
