"""What search asks of a model: a start and a step, nothing else.

Any model that can say "these are the log-probabilities of the next word" can be
searched, sampled from and scored. Dimension letters: B sentences, K hypotheses
of a sentence, J source positions, V target vocabulary. B changes from one step
to the next (finished sentences leave the computation), so a step takes it from ``tf.shape``;
K is known when a step is traced: 1 for the first word, the beam size for all later ones.
"""

from __future__ import annotations

import typing

import tensorflow as tf


class Step(typing.Protocol):
    """One target position, for every hypothesis of every sentence.

    Args:
        previous_ids: int32 [B, K], the words chosen last; 0 at the first position: no word.
        state: nest of tensors [B, K, ...], what the decoder remembers of each hypothesis.
        memory: nest of tensors [B, ...], what the encoder made of each sentence, its
            padding masks included; the hypotheses of a sentence share it.

    Returns:
        log_probabilities: float [B, K, V], natural logarithms, computed from
            their own row and hypothesis alone; −inf forbids a word.
        alignment: float [B, K, J], the weights of the source positions.
        state: as the argument, after this position.
    """

    def __call__(
        self, previous_ids: tf.Tensor, state: typing.Any, memory: typing.Any
    ) -> tuple[tf.Tensor, tf.Tensor, typing.Any]: ...


class Logits(typing.NamedTuple):
    """Log-probabilities that are not normalized yet.

    A model may have a second step, ``unnormalized_step``, that gives logits in place of the
    log-probabilities. Beam search keeps few words, and normalizes only those: the rest of
    the vocabulary is passed over once less.
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
    """The first state with its axis of hypotheses, of size one: [B, ...] → [B, 1, ...]."""
    return tf.nest.map_structure(lambda leaf: tf.expand_dims(tf.convert_to_tensor(leaf), 1), state)


def state_shapes(state):
    """Shapes of a state in a loop in which B varies: [None, K, ...]."""
    return tf.nest.map_structure(lambda leaf: tf.TensorShape([None]).concatenate(leaf.shape[1:]), state)


def of_shapes(state, shapes):
    """The state that a step gave, with what is known of its shapes; a step need not say it."""
    tf.nest.map_structure(lambda leaf, shape: leaf.set_shape(shape), state, shapes)
    return state


def memory_shapes(memory):
    """Shapes of a memory in a loop in which B varies: [None, ...]."""
    return tf.nest.map_structure(lambda leaf: tf.TensorShape([None]).concatenate(leaf.shape[1:]), memory)
