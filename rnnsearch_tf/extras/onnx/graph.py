"""The beam search of a model as an ONNX graph: source ids in, n-best lists out.

The graph is that of search/beam.py, traced by TensorFlow and converted by tf2onnx.
"""

from __future__ import annotations

import logging
import typing

from rnnsearch_tf.config import SearchConfig
from rnnsearch_tf.extras.onnx.loops import hoist_constants, rename
from rnnsearch_tf.search.beam import BeamResult, Model
from rnnsearch_tf.search.graphs import IDS, search_graph

if typing.TYPE_CHECKING:
    import onnx

INPUT = "source_ids"

OPSET = 18
"""Version of ONNX's operations."""


def search_onnx(model: Model, config: SearchConfig, nbest: int) -> onnx.ModelProto:
    """Convert the beam search of a model, with float32 weights.

    Args:
        model: a TranslationModel or Ensemble in float32.
        config: the search options; they become constants of the graph.
        nbest: length of the lists.

    Returns:
        ModelProto with the input ``source_ids``, int32 [B, J], and the outputs of
        :class:`~rnnsearch_tf.search.beam.BeamResult`, by their names.
    """
    import tf2onnx

    logging.getLogger("tf2onnx").setLevel(logging.ERROR)  # its warnings do not concern a user
    proto, _ = tf2onnx.convert.from_function(
        search_graph(model, config, nbest, alignments=True),
        input_signature=[IDS],
        opset=OPSET,
        custom_op_handlers={"PlaceholderWithDefault": (_identity, [])},
    )
    hoist_constants(proto.graph)
    names = dict(zip([value.name for value in proto.graph.output], BeamResult._fields))
    names[proto.graph.input[0].name] = INPUT
    rename(proto.graph, names, defined=True)
    return proto


def _identity(_: typing.Any, node: typing.Any, *__: typing.Any) -> None:
    """Convert beam.py's placeholders, which hide a size from TensorFlow's optimizer."""
    node.type = "Identity"
