"""Search as a `tf.function` that reads every weight once."""

from __future__ import annotations

import contextlib
import typing
from collections.abc import Callable, Sequence

import tensorflow as tf

from rnnsearch_tf.config import SearchConfig
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.search.beam import BeamResult, beam_search

IDS = tf.TensorSpec([None, None], tf.int32)
"""Ids of any number of sentences of any length; a function with this signature is traced once."""


def hoist_weights(
    variables: Sequence[keras.Variable], values: Sequence[tf.Tensor] | None = None
) -> contextlib.AbstractContextManager[typing.Any]:
    """A context in which these variables have fixed values: those at the beginning of a call of the
    function that is being traced, or those of now, for all calls, if no variable is trainable.

    Search calls the step of a model inside ``tf.while_loop``. Without this context, every step
    would read, join and cast every weight again; for a model that is not trained any more, every
    call would. Keras's ``StatelessScope`` passes the values to the layers.

    Args:
        variables: list of Keras variables.
        values: list of tensors with the same shapes and dtypes to use instead: an exported model
            stores its weights elsewhere, possibly in fewer bits. None: the values of the variables.
    """
    if values is None:
        trained = any(variable.trainable for variable in variables)
        with contextlib.nullcontext() if trained else tf.init_scope():
            values = [tf.convert_to_tensor(variable) for variable in variables]
    return keras.StatelessScope(list(zip(variables, values)), initialize_variables=False)


def search_graph(
    model: typing.Any, config: SearchConfig, nbest: int = 1, alignments: bool = True
) -> Callable[[tf.Tensor], BeamResult]:
    """The function source_ids → BeamResult, traced once; see
    :func:`~rnnsearch_tf.search.beam.beam_search`.
    """

    @tf.function(autograph=False, input_signature=[IDS])
    def graph(source_ids: tf.Tensor) -> BeamResult:
        with hoist_weights(model.weights):
            return beam_search(model, source_ids, config, nbest, alignments)

    return graph
