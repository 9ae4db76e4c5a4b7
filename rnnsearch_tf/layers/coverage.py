"""Content attention with coverage: it takes into account which words it has attended to before
(See et al. 2017, eqs. 10–11; Tu et al. 2016).

    coverage_ij = Σ_{k<i} α_kj
    e_ij = v_aᵀ tanh(W_a s_{i−1} + U_a h_j + w_c coverage_ij)

The coverage loss of See et al. is left out.
"""

from __future__ import annotations

import tensorflow as tf

from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.layers.attention import AttentionMemory, BahdanauAttention, weighted_sum
from rnnsearch_tf.layers.base import Shape, State, matmul
from rnnsearch_tf.layers.initializers import initializer, seed_stream


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class CoverageAttention(BahdanauAttention):
    """:class:`BahdanauAttention` with the coverage weight w_c [n']; it has the same arguments,
    but no layer normalization.

    Raises:
        UsageError: layer_normalization is True.
    """

    def __post_init__(self) -> None:
        if self.layer_normalization:
            raise UsageError(
                "CoverageAttention: layer_normalization: expected False, got True, which only"
                " BahdanauAttention has; leave it out"
            )

    def build(self, state_shape: Shape, annotations_shape: Shape | None = None) -> None:
        super().build(state_shape, annotations_shape)
        seed = next(seed_stream(self.weight_seed + 1))
        self.w_c = self.matrix(
            "w_c",
            (1, self.alignment_size),
            initializer(self.initialization, "alignment", seed, terms=2),
        )

    def initial_state(self, memory: AttentionMemory) -> State:
        """Zero coverage before the first word: {"coverage": [B, J]}."""
        return {"coverage": tf.zeros_like(memory.values[:, :, 0])}

    def attend(  # type: ignore[override]  # takes the coverage
        self, query: tf.Tensor, memory: AttentionMemory, coverage: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, State]:
        """(c_i [B, K, 2n], α_i [B, K, J], {"coverage": [B, K, J]}) for s_{i−1} [B, K, n]."""
        query = self.matmul(query, self.W_a)[:, :, tf.newaxis]  # [B, K, 1, n']
        keys = memory.keys[:, tf.newaxis]  # [B, 1, J, n']
        hidden = tf.tanh(query + keys + coverage[..., tf.newaxis] * self.w_c[0])  # [B, K, J, n']
        energies = tf.squeeze(matmul(hidden, self.v_a), axis=-1)  # [B, K, J]
        context, alignment = weighted_sum(energies, memory, self.product_dtype)
        return context, alignment, {"coverage": coverage + alignment}
