"""Search as a `tf.function` that reads every weight once."""

from __future__ import annotations

import typing
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import tensorflow as tf

from rnnsearch_tf.config import SearchConfig
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.search.beam import BeamResult, beam_search

IDS = tf.TensorSpec([None, None], tf.int32)
"""Ids of any number of sentences of any length; a function with this signature is traced once."""


def hoist_weights(
    variables: Sequence[keras.Variable], values: Sequence[tf.Tensor] | None = None
) -> AbstractContextManager[typing.Any]:
    """A context in which these variables have fixed values: those that they have when the function
    that is being traced is called, or others.

    Search calls the step of a model inside ``tf.while_loop``. Without this context, every step
    would read, join and cast every weight again. Keras's ``StatelessScope`` passes the values to
    the layers.

    Args:
        variables: list of Keras variables.
        values: list of tensors with the same shapes and dtypes to use instead: :func:`constants`,
            or those of an exported model, which stores its weights elsewhere, possibly in fewer
            bits.
    """
    if values is None:
        values = [tf.convert_to_tensor(variable) for variable in variables]
    return keras.StatelessScope(list(zip(variables, values)), initialize_variables=False)


def constants(variables: Sequence[keras.Variable]) -> list[tf.Tensor]:
    """The values of now, for all calls of the function that is being traced: its layers join and
    cast them once. It does not see values that are set later.
    """
    with tf.init_scope():
        return [tf.convert_to_tensor(variable) for variable in variables]


def search_graph(
    model: typing.Any,
    config: SearchConfig,
    nbest: int = 1,
    alignments: bool = True,
    constant: bool = False,
) -> Callable[[tf.Tensor], BeamResult]:
    """The function source_ids → BeamResult, traced once; see
    :func:`~rnnsearch_tf.search.beam.beam_search` and, if the weights are constant,
    :func:`constants`.
    """

    @tf.function(autograph=False, input_signature=[IDS])
    def graph(source_ids: tf.Tensor) -> BeamResult:
        with hoist_weights(model.weights, constants(model.weights) if constant else None):
            return beam_search(model, source_ids, config, nbest, alignments)

    return graph
