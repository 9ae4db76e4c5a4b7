"""Beam search, scoring and sampling as `tf.function`s: ids in, results out.

A model is any object with `start`, `step` and `trainable_variables` (search/interface.py).
"""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.runtime.nests import Nest
from rnnsearch_tf.config import PAD_ID, SearchConfig
from rnnsearch_tf.search.beam import BeamResult, beam_search
from rnnsearch_tf.search.interface import Model, Step
from rnnsearch_tf.search.sampling import Samples, sample
from rnnsearch_tf.search.scoring import TargetScores, score_targets

IDS = tf.TensorSpec([None, None], tf.int32)
"""Ids of any number of sentences of any length; a function with this signature is traced once."""


Graph: typing.TypeAlias = Callable[..., typing.Any]
"""A ``tf.function`` of source ids and further inputs."""


def search_graph(model: Model, config: SearchConfig) -> Graph:
    """The function source_ids → BeamResult; for the arguments see :func:`search_model`."""

    def search(source_ids: tf.Tensor) -> BeamResult:
        return search_model(model, source_ids, source_lengths(source_ids), config)

    return _graph(model, search)


def search_model(
    model: Model,
    source_ids: tf.Tensor,
    source_lengths: tf.Tensor,
    config: SearchConfig,
    alignments: bool = True,
    history: typing.Any = None,
) -> BeamResult:
    """Beam search of a batch.

    Args:
        alignments: bool. False: the alignments of the result are [B, N, I, 0], and the search does
            not store those of every hypothesis and step, which are most of its memory.
        history: as of :func:`~rnnsearch_tf.search.beam.beam_search`.
    """
    state, memory = model.start(source_ids)
    step = model.step if alignments else _without_alignments(model.step)
    return beam_search(state, memory, step, source_lengths, config, history)


def _without_alignments(step: Step) -> Step:
    def step_without(
        previous_ids: tf.Tensor, state: Nest, memory: Nest
    ) -> tuple[tf.Tensor, tf.Tensor, Nest]:
        logits, alignment, state = step(previous_ids, state, memory)
        return logits, alignment[..., :0], state

    return step_without


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
                return search_model(model, source_ids, ...)
    """
    values = [tf.convert_to_tensor(value) for value in (variables if values is None else values)]
    return keras.StatelessScope(list(zip(variables, values)), initialize_variables=False)


def score_targets_graph(model: Model) -> Graph:
    """The function (source_ids, target_ids) → TargetScores."""

    def score(source_ids: tf.Tensor, target_ids: tf.Tensor) -> TargetScores:
        return score_targets(*model.start(source_ids), model.step, target_ids)

    return _graph(model, score, IDS)


def sample_graph(model: Model, config: SearchConfig) -> Graph:
    """The function (source_ids, seeds, temperature) → Samples."""

    def draw(source_ids: tf.Tensor, seeds: tf.Tensor, temperature: tf.Tensor) -> Samples:
        return sample(
            *model.start(source_ids),
            model.step,
            source_lengths(source_ids),
            seeds,
            config,
            temperature=temperature,
        )

    return _graph(model, draw, tf.TensorSpec([None], tf.int64), tf.TensorSpec([], tf.float64))


def _graph(model: Model, function: Callable[..., typing.Any], *further: tf.TensorSpec) -> Graph:
    """A ``tf.function`` of source ids and inputs with the further specifications, which reads every
    weight once.
    """

    @tf.function(autograph=False, input_signature=[IDS, *further])
    @functools.wraps(function)
    def graph(*inputs: tf.Tensor) -> typing.Any:
        with hoist_weights(model.trainable_variables):
            return function(*inputs)

    return graph


def source_lengths(source_ids: tf.Tensor) -> tf.Tensor:
    """Source lengths int32 [B], including the end symbol."""
    return tf.math.count_nonzero(source_ids != PAD_ID, axis=1, dtype=tf.int32)
