"""What search needs of a model: a start and a step.

    start(source_ids) → (state, memory)        source_ids int32 [B, J], ended by the end symbol, padded with 0
    step(previous_ids, state, memory) → (log_probabilities, alignment, state)        see Step

Dimension letters: B sentences, K hypotheses of a sentence, J source positions, V target vocabulary. B changes from
one step to the next, because sentences that are done are dropped: a step takes it from ``tf.shape``. K is known when a
step is traced: 1 for the first word, the beam size for all later ones.
"""

from __future__ import annotations

import typing

import tensorflow as tf


class Step(typing.Protocol):
    """One decoder step: the next target position of every hypothesis of every sentence.

    A hypothesis's results must not depend on other hypotheses or sentences.

    Args:
        previous_ids: int32 [B, K], the previous words; 0 before the first word.
        state: nest of tensors [B, K, ...], the decoder's state of each hypothesis.
        memory: nest of tensors [B, ...], the encoder's results and masks; the hypotheses of a sentence share them.

    Returns:
        log_probabilities: float [B, K, V], natural logarithms; −inf forbids a word.
        alignment: float [B, K, J], attention weights of the source positions.
        state: like the argument, after this step.
    """

    def __call__(
        self, previous_ids: tf.Tensor, state: typing.Any, memory: typing.Any
    ) -> tuple[tf.Tensor, tf.Tensor, typing.Any]: ...


class Logits(typing.NamedTuple):
    """Unnormalized log-probabilities.

    A model may have a second step, ``unnormalized_step``, that returns logits in place of log-probabilities. Beam search
    normalizes only the few words that it keeps, which saves one pass over the vocabulary.
    """

    values: tf.Tensor  # float32 [B, K, V]


def beam_step(model, output=None, word_biases=None) -> Step:
    """The model's step for beam search; with Logits for log-probabilities where it has an ``unnormalized_step``.

    Args:
        output: None, or the result of the model's ``output_weights``, handed to its step with ``word_biases``.
    """
    more = () if output is None else (output, word_biases)

    def step(previous_ids, state, memory):
        if not hasattr(model, "unnormalized_step"):
            return model.step(previous_ids, state, memory, *more)
        logits, *rest = model.unnormalized_step(previous_ids, state, memory, *more)
        return Logits(logits), *rest

    return step


def add_hypotheses(state):
    """The initial state with an axis of hypotheses, of size one: [B, ...] → [B, 1, ...]."""
    return tf.nest.map_structure(lambda leaf: tf.expand_dims(tf.convert_to_tensor(leaf), 1), state)


def state_shapes(state):
    """Shapes of a state [B, K, ...] in a loop in which B varies: [None, K, ...]."""
    return tf.nest.map_structure(lambda leaf: tf.TensorShape([None]).concatenate(leaf.shape[1:]), state)


def of_shapes(state, shapes):
    """The state with these static shapes, which a step may have lost."""
    tf.nest.map_structure(lambda leaf, shape: leaf.set_shape(shape), state, shapes)
    return state


def memory_shapes(memory):
    """Shapes of a memory [B, ...] in a loop in which B varies: [None, ...]."""
    return tf.nest.map_structure(lambda leaf: tf.TensorShape([None]).concatenate(leaf.shape[1:]), memory)
