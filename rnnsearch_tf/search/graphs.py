"""Search, scoring and sampling as `tf.function`s that read every weight once."""

from __future__ import annotations

import typing
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import tensorflow as tf

from rnnsearch_tf.config import SearchConfig
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.search.beam import beam_search
from rnnsearch_tf.search.sampling import Samples, sample

IDS = tf.TensorSpec([None, None], tf.int32)
"""Ids of any number of sentences of any length; a function with this signature is traced once."""

Graph: typing.TypeAlias = Callable[..., typing.Any]
"""A ``tf.function`` of ids and further inputs."""


def hoist_weights(
    variables: Sequence[keras.Variable], values: Sequence[tf.Tensor] | None = None
) -> AbstractContextManager[typing.Any]:
    """A context in which these variables have constant values, read in the graph that is being
    traced.

    Search calls the step of a model inside ``tf.while_loop``. Without this context, every step
    would read and cast every weight again. Keras's ``StatelessScope`` passes the values to the
    layers.

    Args:
        variables: list of Keras variables.
        values: list of tensors with the same shapes and dtypes to use instead: an exported model
            stores its weights elsewhere, possibly in fewer bits. None: the values of the variables.

    Example::

        @tf.function
        def translate(source_ids):
            with hoist_weights(model.trainable_variables):
                return beam_search(model, source_ids, config)
    """
    values = [tf.convert_to_tensor(value) for value in (variables if values is None else values)]
    return keras.StatelessScope(list(zip(variables, values)), initialize_variables=False)


def search_graph(
    model: typing.Any, config: SearchConfig, nbest: int = 1, alignments: bool = True
) -> Graph:
    """The function source_ids → BeamResult; see :func:`~rnnsearch_tf.search.beam.beam_search`."""
    return _graph(model, lambda ids: beam_search(model, ids, config, nbest, alignments))


def score_graph(model: typing.Any) -> Graph:
    """The function (source_ids, target_ids) → TargetScores."""
    return _graph(model, model.score_targets, IDS)


def sample_graph(model: typing.Any, config: SearchConfig) -> Graph:
    """The function (source_ids, seeds, temperature) → Samples."""

    def draw(source_ids: tf.Tensor, seeds: tf.Tensor, temperature: tf.Tensor) -> Samples:
        return sample(model, source_ids, seeds, config, temperature)

    return _graph(model, draw, tf.TensorSpec([None], tf.int64), tf.TensorSpec([], tf.float64))


def _graph(model: typing.Any, function: Graph, *further: tf.TensorSpec) -> Graph:
    """The function of source ids and further inputs, traced once."""

    @tf.function(autograph=False, input_signature=[IDS, *further])
    def graph(*inputs: tf.Tensor) -> typing.Any:
        with hoist_weights(model.trainable_variables):
            return function(*inputs)

    return graph
