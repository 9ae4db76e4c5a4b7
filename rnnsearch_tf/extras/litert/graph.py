"""The beam search of a model as a LiteRT graph: source ids of one sentence in, n-best list out.

The graph is that of search/beam.py, traced for a batch of one sentence of any length, and converted
with LiteRT's built-in operations alone. A history of tensors takes the place of the TensorArrays.
"""

from __future__ import annotations

import tensorflow as tf

from rnnsearch_tf.config import SearchConfig
from rnnsearch_tf.export.graph_export import INPUT
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.search.graphs import hoist_weights, search_model, source_lengths
from rnnsearch_tf.search.interface import Model
from rnnsearch_tf.search.shortlist import Shortlist
from rnnsearch_tf.search.tensor_history import TensorHistory

ONE_SENTENCE = tf.TensorSpec([1, None], tf.int32, name=INPUT)
"""LiteRT's lists need a batch size that is known; the length may vary."""


def search_litert(
    model: Model, config: SearchConfig, shortlist: Shortlist | None = None, weights: str = "float32"
) -> bytes:
    """Convert the beam search of a model.

    Args:
        model: a TranslationModel or Ensemble in float32, whose source ids are one tensor.
        config: the search options; they become constants of the graph.
        weights: "float32"; "float16": stored so, computed in float32; "int8": LiteRT's dynamic
            range quantization, which computes products in eight bits.

    Returns:
        The file: its signature has the input ``source_ids``, int32 [1, J], and the outputs of
        :class:`~rnnsearch_tf.search.beam.BeamResult`, by their names.
    """
    variables = model.trainable_variables
    values = [keras.ops.convert_to_numpy(variable) for variable in variables]

    @tf.function(autograph=False, input_signature=[ONE_SENTENCE])
    def search(source_ids: tf.Tensor) -> dict[str, tf.Tensor]:
        with hoist_weights(variables, values):
            result = search_model(
                model,
                source_ids,
                source_lengths(source_ids),
                config,
                shortlist and shortlist.as_constants(),
                history=TensorHistory(),
                drop_done=False,
            )
        return result._asdict()

    converter = tf.lite.TFLiteConverter.from_concrete_functions(
        [search.get_concrete_function()], tf.Module()
    )
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    if weights != "float32":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if weights == "float16":
        converter.target_spec.supported_types = [tf.float16]
    content: bytes = converter.convert()
    return content
