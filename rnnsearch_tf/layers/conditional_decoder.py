"""The conditional gated recurrent unit: attention between two transitions of the decoder (Firat and
Cho 2016; Sennrich et al. 2017, Nematus, §2).

    s'_i = unit_1(E y_{i−1}, s_{i−1})       before attention
    α_i, c_i from s'_i and the h_j          attend
    s_i  = unit_2(c_i, s'_i)                update; it reads no word
    s_i  = unit_k(s_i)                      k = 3 … L: deep transition (Miceli Barone et al. 2017)

Attention thus knows the word y_{i−1}, which in RNNsearch it does not.
"""

from __future__ import annotations

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.layers.base import Block, State, blocks_of
from rnnsearch_tf.layers.decoder import Decoder, Kernel
from rnnsearch_tf.layers.deep_transition import DeepTransition
from rnnsearch_tf.layers.initializers import seed_stream


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class ConditionalDecoder(Decoder):
    """A :class:`Decoder` that attends between two transitions; it has the same call arguments and
    results.

    Args:
        decoder_transitions: L ≥ 2.
    """

    decoder_transitions: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        self.after_attention = DeepTransition(
            self.hidden_size,
            self.decoder_transitions - 1,
            self.unit,
            self.layer_normalization,
            self.forget_bias,
            self.normalized,
            seed=next(seed_stream(self.weight_seed + 2)),
            name="after_attention",
            **self.shared_options(),
        )

    def _build_units(self, embedding_size: int, annotation_size: int) -> None:
        self.recurrent_unit.build(embedding_size)
        self.after_attention.build(None, annotation_size)

    def _context_unit(self) -> DeepTransition:
        return self.after_attention

    def before_attention(self, state: State, inputs: tf.Tensor) -> tuple[State, tf.Tensor]:
        """(state with s'_i, the constant inputs of the second unit [3n or 4n])."""
        return (
            state | self.recurrent_unit.advance(inputs, state),
            self.after_attention.constant_inputs(),
        )

    def _kernel(self) -> Kernel | None:
        return None

    def blocks(self, prefix: str = "") -> dict[str, Block]:
        """The weights of the second unit are ``2.C`` and so on, those of further units ``3.U``."""
        units = self.after_attention.units
        later = {id(weight) for unit in units for weight in unit.weights}
        blocks = blocks_of([w for w in self.weights if id(w) not in later], prefix)
        for k, unit in enumerate(units, start=2):
            blocks |= unit.blocks(f"{prefix}{k}.")
        return blocks
