"""The interface between search and models: a start and a step.

    start(source_ids) → (state, memory)
    step(previous_ids, state, memory) → (logits, alignment, state)        see Step

source_ids are int32 [B, J], end with the end symbol and are padded with 0.

Dimension letters: B sentences, K hypotheses of a sentence, J source positions, V target vocabulary.
B changes between steps, because finished sentences are dropped: a step takes it from ``tf.shape``.
K is known when a step is traced: 1 for the first word, then the beam size.
"""

from __future__ import annotations

import typing

import tensorflow as tf

from rnnsearch_tf.runtime.nests import Nest


class Step(typing.Protocol):
    """One decoder step: the next target position of every hypothesis of every sentence.

    The results of a hypothesis must not depend on other hypotheses or sentences.

    Args:
        previous_ids: int32 [B, K], the previous words; 0 before the first word.
        state: nest of tensors [B, K, ...], decoder state of each hypothesis.
        memory: nest of tensors [B, ...], encoder results and masks, shared by the hypotheses of a
            sentence.

    Returns:
        logits: float32 or float64 [B, K, V], unnormalized log-probabilities of the next word; −inf
            forbids a word. Log-probabilities are valid logits.
        alignment: float [B, K, J], attention weights of the source positions.
        state: the state after this step, with the structure of the argument.
    """

    def __call__(
        self, previous_ids: tf.Tensor, state: Nest, memory: Nest
    ) -> tuple[tf.Tensor, tf.Tensor, Nest]: ...


class Model(typing.Protocol):
    """What search uses of a model."""

    @property
    def trainable_variables(self) -> list[tf.Variable]: ...

    def start(self, source_ids: tf.Tensor) -> tuple[Nest, Nest]: ...

    def step(
        self, previous_ids: tf.Tensor, state: Nest, memory: Nest
    ) -> tuple[tf.Tensor, tf.Tensor, Nest]: ...
