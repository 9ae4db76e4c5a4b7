"""Random sampling from the distribution of a model, with one seed per sentence."""

from __future__ import annotations

import typing

import tensorflow as tf

from rnnsearch_tf.config import END_ID, PAD_ID, UNKNOWN_ID, SearchConfig
from rnnsearch_tf.runtime.backend import Nest
from rnnsearch_tf.search.beam import Model, length_limits


class Samples(typing.NamedTuple):
    """One output per row."""

    ids: tf.Tensor  # int32 [B, I], END_ID included unless it was cut, then PAD_ID
    log_probabilities: tf.Tensor  # float32 [B], natural log under the model at temperature 1


def sample(
    model: Model,
    source_ids: tf.Tensor,
    seeds: tf.Tensor,
    config: SearchConfig,
    temperature: float | tf.Tensor = 1.0,
) -> Samples:
    """One random output for every row, word by word: p(y_i) ∝ p_model(y_i | y_<i,
    x)^(1/temperature).

    The temperature divides the logits: above 1 samples are more varied, below 1 they are closer to
    greedy search. Departure from the authors' program: its temperature multiplies the logits, so
    its 2 is 0.5 here. The output of a row depends only on its seed and its sentence, in any batch.

    Args:
        model: see :class:`~rnnsearch_tf.search.beam.Model`.
        source_ids: int32 [B, J], each row with the end symbol, padded with 0.
        seeds: int64 [B].
        config: its options for lengths and unknown words count.
        temperature: above 0; one for all rows, or float [B, 1].
    """
    minimum, maximum = length_limits(source_ids, config)
    noise = _noise(seeds, tf.maximum(tf.reduce_max(maximum), 1))  # [B, steps]
    state, memory = model.start(source_ids)
    state = tf.nest.map_structure(lambda leaf: leaf[:, tf.newaxis], state)  # K = 1
    shapes = tf.nest.map_structure(lambda leaf: tf.TensorShape([None, *leaf.shape[1:]]), state)

    def advance(
        goes_on: tf.Tensor, ids: tf.Tensor, state: Nest, totals: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, Nest, tf.Tensor]:
        length = tf.shape(ids)[1]  # words after this step; column 0 has none
        logits, _, state = model.step(ids[:, -1][:, tf.newaxis], state, memory)
        log_probabilities = tf.nn.log_softmax(tf.cast(logits[:, 0], tf.float64))  # [B, V]
        may_end = length > minimum
        words = _draw(log_probabilities, noise[:, length - 1], temperature, may_end, config)
        words = tf.where(goes_on, words, PAD_ID)
        gained = tf.cast(tf.gather(log_probabilities, words, batch_dims=1), tf.float32)
        totals += tf.where(goes_on, gained, 0.0)
        goes_on &= (words != END_ID) & (length < maximum)
        state = tf.nest.map_structure(tf.ensure_shape, state, shapes)
        return goes_on, tf.concat([ids, words[:, tf.newaxis]], axis=1), state, totals

    zeros = tf.zeros_like(maximum)
    row = tf.TensorShape([None])
    _, ids, _, totals = tf.while_loop(
        lambda goes_on, *_: tf.reduce_any(goes_on),
        advance,
        (zeros == 0, zeros[:, tf.newaxis], state, tf.cast(zeros, tf.float32)),
        shape_invariants=(row, tf.TensorShape([None, None]), shapes, row),
        parallel_iterations=1,
    )
    return Samples(ids[:, 1:], totals)


def _noise(seeds: tf.Tensor, steps: tf.Tensor) -> tf.Tensor:
    """Random numbers in [0, 1), float64 [B, steps]. The first numbers do not depend on the number
    of steps (Philox).
    """

    def row(seed: tf.Tensor) -> tf.Tensor:
        seed = tf.stack([seed, 0])
        return tf.random.stateless_uniform([steps], seed, dtype=tf.float64, alg="philox")

    # one more row: map_fn cannot infer the shape of the result from no rows
    seeds = tf.concat([tf.cast(seeds, tf.int64), [0]], axis=0)
    return tf.map_fn(row, seeds, fn_output_signature=tf.TensorSpec([None], tf.float64))[:-1]


def _draw(
    log_probabilities: tf.Tensor,
    noise: tf.Tensor,
    temperature: float | tf.Tensor,
    may_end: tf.Tensor,
    config: SearchConfig,
) -> tf.Tensor:
    """The word at which the cumulative probability exceeds the noise: int32 [B]."""
    ids = tf.range(tf.shape(log_probabilities)[1])
    forbidden = (ids == PAD_ID) | ((ids == UNKNOWN_ID) & (not config.allow_unknown))  # [V]
    forbidden |= ~may_end[:, tf.newaxis] & (ids == END_ID)  # [B, V]
    # a temperature below 1e-38 is 0 in float32
    logits = log_probabilities / tf.maximum(tf.cast(temperature, tf.float64), 1e-30)
    logits = tf.where(forbidden, tf.constant(float("-inf"), tf.float64), logits)
    cumulative = tf.cumsum(tf.nn.softmax(logits), axis=1)
    threshold = noise[:, tf.newaxis] * cumulative[:, -1:]  # below the last: the noise is below 1
    words = tf.searchsorted(cumulative, threshold, side="right")[:, 0]  # the first one above
    return tf.minimum(words, ids[-1])
