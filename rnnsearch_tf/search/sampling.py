"""Random sampling from the distribution of a model, with one seed per sentence."""

from __future__ import annotations

import numbers
import typing

import tensorflow as tf

from rnnsearch_tf.runtime.nests import Nest
from rnnsearch_tf.config import END_ID, PAD_ID, UNKNOWN_ID, SearchConfig
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.search.hypotheses import (
    add_hypotheses,
    loop_shapes,
    maximum_lengths,
    minimum_lengths,
    set_shapes,
)
from rnnsearch_tf.search.interface import Step
from rnnsearch_tf.search.topk import next_words


class Samples(typing.NamedTuple):
    """One output per row."""

    ids: tf.Tensor  # int32 [B, I], END_ID included, then PAD_ID
    lengths: tf.Tensor  # int32 [B], END_ID counted
    # float32 [B], natural log under the model at temperature 1
    log_probabilities: tf.Tensor
    finished: tf.Tensor  # bool [B], False: cut at the maximum length, without END_ID


def sample(
    state: Nest,
    memory: Nest,
    step: Step,
    source_lengths: tf.Tensor,
    seeds: tf.Tensor,
    config: SearchConfig,
    *,
    temperature: float | tf.Tensor = 1.0,
) -> Samples:
    """One random output for every row, word by word: p(y_i) ∝ p_model(y_i | y_<i,
    x)^(1/temperature).

    The temperature divides the logits: above 1 samples are more varied, below 1 they are closer to
    greedy search. Departure from the authors' program: its temperature multiplies the logits, so
    its 2 is 0.5 here. The output of a row depends only on its seed and its sentence, in any batch.

    PAD_ID is never drawn, and neither is what `config` forbids: the unknown word (allow_unknown)
    and the end symbol before the minimum length. The options of the beam have no effect.

    Args:
        state: nest of tensors [B, ...], initial state of the decoder.
        memory: nest of tensors [B, ...].
        step: see :class:`~rnnsearch_tf.search.interface.Step`.
        source_lengths: int32 [B], including the end symbol.
        seeds: int64 [B].
        config: only its options for length and unknown words are used.
        temperature: float or scalar tensor, above 0.

    Returns:
        Samples.

    Raises:
        UsageError: the temperature is a number, but not a finite one above 0.
    """
    if not tf.is_tensor(temperature):
        check_temperature(temperature)
    source_lengths = tf.cast(source_lengths, tf.int32)
    minimum = minimum_lengths(source_lengths, config)
    maximum = maximum_lengths(source_lengths, config)
    steps = tf.maximum(tf.reduce_max(maximum), 1)
    noise = _noise(seeds, steps)  # [B, steps]
    batch_size = tf.shape(source_lengths)[0]
    state = add_hypotheses(state)
    memory = tf.nest.map_structure(tf.convert_to_tensor, memory)
    shapes = loop_shapes(state)

    def advance(
        time: tf.Tensor,
        previous_ids: tf.Tensor,
        state: Nest,
        totals: tf.Tensor,
        lengths: tf.Tensor,
        done: tf.Tensor,
        words: tf.TensorArray,
    ) -> tuple[typing.Any, ...]:
        logits, _, state = step(previous_ids[:, tf.newaxis], state, memory)
        log_probabilities = tf.cast(logits[:, 0] - next_words(logits).log_sum, tf.float64)  # [B, V]
        word = _draw(log_probabilities, noise[:, time], temperature, time < minimum, config)
        word = tf.where(done, PAD_ID, word)
        gained = tf.cast(tf.gather(log_probabilities, word, batch_dims=1), tf.float32)
        totals += tf.where(done, 0.0, tf.minimum(gained, 0.0))
        lengths += tf.cast(~done, tf.int32)
        done |= (word == END_ID) | (time + 1 >= maximum)
        return (
            time + 1,
            word,
            set_shapes(state, shapes),
            totals,
            lengths,
            done,
            words.write(time, word),
        )

    words = tf.TensorArray(tf.int32, size=0, dynamic_size=True, element_shape=source_lengths.shape)
    zeros = tf.zeros([batch_size], tf.int32)
    loop = (
        tf.constant(0),
        zeros,
        state,
        tf.zeros([batch_size]),
        zeros,
        tf.zeros([batch_size], tf.bool),
        words,
    )
    row = tf.TensorShape([None])
    _, _, _, totals, lengths, _, words = tf.while_loop(
        lambda time, previous_ids, state, totals, lengths, done, words: (
            (time == 0) | ~tf.reduce_all(done)
        ),
        advance,
        loop,
        shape_invariants=(tf.TensorShape([]), row, shapes, row, row, row, tf.TensorShape(None)),
        parallel_iterations=1,
    )
    ids = tf.transpose(words.stack())  # [B, I]
    return Samples(ids, lengths, totals, tf.reduce_any(ids == END_ID, axis=1))


def check_temperature(temperature: float) -> None:
    """Raise UsageError unless the temperature is a finite number above 0."""
    if not (isinstance(temperature, numbers.Real) and 0 < temperature < float("inf")):
        raise UsageError(
            f"temperature: expected a finite number above 0, got {temperature!r}; 1.0 draws from"
            " the model's own probabilities"
        )


def _noise(seeds: tf.Tensor, steps: tf.Tensor) -> tf.Tensor:
    """Random numbers in [0, 1), float64 [B, steps]. The first numbers do not depend on the number
    of steps (Philox).
    """

    def row(seed: tf.Tensor) -> tf.Tensor:
        return tf.random.stateless_uniform(
            [steps], seed=tf.stack([seed, 0]), dtype=tf.float64, alg="philox"
        )

    # one more row: map_fn cannot infer the shape of the result from no rows
    seeds = tf.concat([tf.cast(seeds, tf.int64), [0]], axis=0)
    return tf.map_fn(row, seeds, fn_output_signature=tf.TensorSpec([None], tf.float64))[:-1]


def _draw(
    log_probabilities: tf.Tensor,
    noise: tf.Tensor,
    temperature: float | tf.Tensor,
    end_forbidden: tf.Tensor,
    config: SearchConfig,
) -> tf.Tensor:
    """The word at which the cumulative probability exceeds the noise: int32 [B]."""
    vocabulary_size = tf.shape(log_probabilities)[1]
    ids = tf.range(vocabulary_size)
    forbidden = (ids == PAD_ID) | ((ids == UNKNOWN_ID) & (not config.allow_unknown))  # [V]
    forbidden |= end_forbidden[:, tf.newaxis] & (ids == END_ID)  # [B, V]
    logits = log_probabilities / tf.cast(temperature, tf.float64)
    logits = tf.where(forbidden, tf.constant(float("-inf"), tf.float64), logits)
    weights = tf.exp(logits - tf.reduce_max(logits, axis=1, keepdims=True))
    cumulative = tf.cumsum(weights, axis=1)
    threshold = (
        noise[:, tf.newaxis] * cumulative[:, -1:]
    )  # below the last, since the noise is below 1
    # the first one above the threshold
    words = tf.searchsorted(cumulative, threshold, side="right")[:, 0]
    return tf.minimum(words, vocabulary_size - 1)
