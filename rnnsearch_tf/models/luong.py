"""Deep recurrent encoder and decoder with the attention of Luong et al.

    s_t = RNN([y_{t−1}], s_{t−1});  with input feeding RNN([y_{t−1} ; ŝ_{t−1}], s_{t−1})
    ŝ_t = tanh(W_c [c_t ; s_t]),    p(y_t) = softmax(W_s ŝ_t)

Other programs read the source in both directions, and make the first state of the decoder in other
ways: see ``layers/bidirectional_stack.py``, ``layers/gnmt_encoder.py`` and ``layers/bridge.py``.

Unlike in RNNsearch, the query of the attention is the state at the same position. Without input
feeding, no state depends on an earlier alignment, and training attends at all positions at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from rnnsearch_tf.config import PAD_ID
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.layers.attention import AttentionMemory
from rnnsearch_tf.layers.bidirectional_stack import BidirectionalStack
from rnnsearch_tf.layers.bridge import Bridge
from rnnsearch_tf.layers.base import Block, PaperLayer, mean_of_words
from rnnsearch_tf.layers.gnmt_encoder import GNMTEncoder
from rnnsearch_tf.layers.luong_attention import LuongAttention, ScoredAttention
from rnnsearch_tf.layers.scan import scan
from rnnsearch_tf.layers.recurrent_stack import LayerStates
from rnnsearch_tf.models.layered import LayeredModel, last_states, reverse_words


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class LuongModel(LayeredModel):
    """The deep encoder and decoder of :class:`LayeredModel` with attention between them.

    The decoder starts from the last states of the encoder, see the option ``bridge``; ŝ_0 is zero.
    Dropout (readout_dropout) applies to ŝ_t before the output layer, not to the ŝ_t that is fed
    back. With ``predict_from: state`` the output layer reads s_t in place of ŝ_t.

    Example:
        >>> from rnnsearch_tf.config import ModelConfig
        >>> config = ModelConfig(
        ...     system="luong", embedding_size=4, hidden_size=5, input_feeding=True
        ... )
        >>> model = LuongModel(config, 10, 12)
        >>> ids = tf.constant([[3, 4, 1], [5, 1, 0]])
        >>> model({"source_ids": ids, "target_ids": ids}).shape
        TensorShape([2, 3, 12])
    """

    system = "luong"
    has_attention = True
    symbol = "W_s"

    def _add_layers(self, seeds: Iterator[int], common: dict[str, Any]) -> None:
        config = self.config
        super()._add_layers(seeds, common)
        annotation_size = self.encoder.output_size or config.hidden_size
        self._add_attention(seeds, common)
        self.attention.build((None, None, config.hidden_size), (None, None, annotation_size))
        self.bridge = Bridge(
            config.bridge,
            config.layers,
            config.hidden_size,
            seed=next(seeds),
            name="bridge",
            **common,
        )
        names = ("state", "cell") if config.unit == "lstm" else ("state",)
        self.bridge.build(annotation_size, names, config.encoder_layers or config.layers)

    def _add_attention(self, seeds: Iterator[int], common: dict[str, Any]) -> None:
        config = self.config
        self.attention: ScoredAttention = LuongAttention(
            config.hidden_size,
            config.attention_score,
            config.alignment_size,
            config.attentional_bias,
            config.attentional_activation,
            seed=next(seeds),
            name="attention",
            **common,
        )
        self.drop_readout = self._dropout(
            "drop_readout", config.readout_dropout, config.hidden_size, seeds
        )

    def _encoder(self, seed: int, **stack: Any) -> PaperLayer:
        config = self.config
        layers = config.encoder_layers or config.layers
        if config.encoder_directions == "forward":
            return super()._encoder(seed, **stack)
        if config.encoder_directions == "first":
            return GNMTEncoder(layers, config.hidden_size, seed=seed, name="encoder", **stack)
        return BidirectionalStack(
            layers,
            config.encoder_size or config.hidden_size,
            config.encoder_directions,
            seed=seed,
            name="encoder",
            **stack,
        )

    def _decoder_input_sizes(self) -> tuple[int, ...]:
        fed = self.config.hidden_size if self.config.input_feeding else 0
        return (self.config.embedding_size + fed,)

    def pre_logits(
        self, source_ids: tf.Tensor, target_ids: tf.Tensor, training: bool = False
    ) -> tf.Tensor:
        """What the output layer reads at every target position: float [B, I, n]."""
        return self.attended_pre_logits(source_ids, target_ids, training)[0]

    def attended_pre_logits(
        self, source_ids: tf.Tensor, target_ids: tf.Tensor, training: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """(:meth:`pre_logits`, the alignments [B, I, J])."""
        state, memory = self.start(source_ids, training)
        words = self.previous_words(target_ids, training)  # [B, I, m]
        if self.config.input_feeding:
            attentional, alignments = self._feed(words, state, memory, training)
        else:
            states = self.decoder(words, state["layers"], training=training)
            attentional, alignments, _ = self.attention.attend(
                self.drop_hidden(self.decoder.output(states), training=training), memory
            )
        return self.drop_readout(attentional, training=training), alignments

    def _feed(
        self, words: tf.Tensor, state: dict[str, Any], memory: AttentionMemory, training: bool
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """ŝ_t, or s_t, [B, I, n] and alignments [B, I, J] with input feeding: a scan of
        :meth:`_advance` with K = 1. Dropout is drawn before the scan.
        """
        layer_factors = self.decoder.dropout_factors(words, training)  # [B, I, layers, n]
        # [B, I, n]
        state_factors = self.drop_hidden(tf.ones_like(layer_factors[:, :, 0]), training=training)
        inputs = tuple(values[:, :, tf.newaxis] for values in (words, layer_factors, state_factors))
        state = tf.nest.map_structure(lambda leaf: leaf[:, tf.newaxis], state)
        no_alignment = tf.zeros_like(memory.mask, words.dtype)[:, tf.newaxis]
        states, alignments = scan(
            lambda now, before: self._advance(now[0], before[0], memory, *now[1:]),
            inputs,
            (state, no_alignment),
        )
        return self._features(states)[:, :, 0], alignments[:, :, 0]

    def _features(self, state: dict[str, Any]) -> tf.Tensor:
        """What the output layer reads: ŝ_t, or s_t."""
        if self.config.predict_from == "state":
            return self.decoder.output(state["layers"])
        return state["attentional"]

    def start(
        self, source_ids: tf.Tensor, training: bool = False
    ) -> tuple[dict[str, Any], AttentionMemory]:
        """(last states of the encoder, with ŝ_0 for input feeding; AttentionMemory)."""
        annotations, last, mask = self._annotations(source_ids, training)
        state: dict[str, Any] = {"layers": self.bridge(last)}
        if self.config.input_feeding:
            state["attentional"] = tf.zeros_like(state["layers"][-1]["state"])
        return state, self.attention.memory(self.drop_hidden(annotations, training=training), mask)

    def _annotations(
        self, source_ids: tf.Tensor, training: bool
    ) -> tuple[tf.Tensor, LayerStates, tf.Tensor]:
        """(h_j [B, J, h] in the order of the words, the encoder's last states, mask [B, J])."""
        if self.config.encoder_directions != "forward":
            words, mask = self.source_words(source_ids, training)
            return *self.encoder(words, mask, training=training), mask
        states, mask = self.read(source_ids, training)
        annotations = self.encoder.output(states)
        if self.config.reverse_source:
            # so that position j of the alignment is word j; the ids were reversed by this mask
            annotations = reverse_words(annotations, source_ids != PAD_ID)
        return annotations, last_states(states), mask

    def source_vectors(self, source_ids: tf.Tensor) -> tf.Tensor:
        """A vector for each source sentence: the mean of its annotations, float [B, h], as wide as
        they are.
        """
        _, memory = self.start(source_ids)
        return mean_of_words(memory.values, memory.mask)

    def step_pre_logits(
        self, previous_ids: tf.Tensor, state: dict[str, Any], memory: AttentionMemory
    ) -> tuple[tf.Tensor, tf.Tensor, dict[str, Any]]:
        """See :class:`TranslationModel`."""
        state, alignment = self._advance(self.target_embedding(previous_ids), state, memory)
        after = state if self.config.input_feeding else {"layers": state["layers"]}
        return self._features(state), alignment, after

    def _advance(
        self,
        words: tf.Tensor,
        state: dict[str, Any],
        memory: AttentionMemory,
        layer_factors: tf.Tensor | None = None,
        state_factors: tf.Tensor | float = 1.0,
    ) -> tuple[dict[str, Any], tf.Tensor]:
        """One position of K hypotheses of each sentence.

        Args:
            words: float [B, K, m]: embeddings of y_{t−1}.
            state: ``layers`` and, with input feeding, ``attentional``: ŝ_{t−1} [B, K, n].
            memory: AttentionMemory.
            layer_factors, state_factors: dropout factors between the layers [B, K, layers, n] and
                below attention [B, K, n].

        Returns:
            (state with ŝ_t as ``attentional``, alignment [B, K, J]).
        """
        if self.config.input_feeding:
            words = tf.concat([words, state["attentional"]], axis=-1)
        layers = self.decoder.advance(words, state["layers"], layer_factors)
        attentional, alignment, _ = self.attention.attend(
            self.decoder.output(layers) * state_factors, memory
        )
        return {"layers": layers, "attentional": attentional}, alignment

    def _blocks(self) -> dict[str, Block]:
        return super()._blocks() | self.attention.blocks() | self.bridge.blocks()
