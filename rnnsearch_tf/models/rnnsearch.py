"""RNNsearch (Bahdanau, Cho, Bengio 2015): the layers put together.

    source ids → E x_j → BiGRUEncoder → annotations h_j
    s_0 = tanh(W_s ←h_1)
    for each target position: look (attention), update the state, read out y_i (DeepOutput)

``decoder_order`` says which word the update sees and which state the readout reads:

    option                  state                            readout of y_i
    look_generate_update    s_i = f(s_{i−1}, y_i, c_i)       s_{i−1}, y_{i−1}, c_i   the authors' program
    paper                   s_i = f(s_{i−1}, y_{i−1}, c_i)   s_{i−1}, y_{i−1}, c_i   Appendix A.2.2
    look_update_generate    s_i = f(s_{i−1}, y_{i−1}, c_i)   s_i,     y_{i−1}, c_i   eq. (4)
"""

import dataclasses

import tensorflow as tf

from rnnsearch_tf.backend import keras
from rnnsearch_tf.config import PAD_ID, ModelConfig, load_config
from rnnsearch_tf.layers import BiGRUEncoder, Decoder, DeepOutput, WordEmbedding
from rnnsearch_tf.layers.base import tensor
from rnnsearch_tf.layers.dropout import Dropout
from rnnsearch_tf.layers.initializers import Seeds
from rnnsearch_tf.layers.softmax_loss import softmax_loss
from rnnsearch_tf.models.translation_model import TranslationModel


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class RNNSearch(TranslationModel):
    """Encoder, attention, decoder and deep output, trained with ``compile`` and ``fit``.

    Args:
        config: ModelConfig, or a dictionary of its options.
        source_vocabulary_size: K_x, special tokens included.
        target_vocabulary_size: K_y.
        seed: int; the same seed gives the same initial weights.
        dtype: ``float32``, ``float64`` or ``mixed_bfloat16``.

    Call arguments:
        inputs: dictionary of ``source_ids`` int32 [B, J] and ``target_ids`` int32 [B, I],
            both ending with the end symbol, padded with 0 on the right.

    Returns:
        logits float [B, I, V]: position i predicts target_ids[:, i].

    Example:
        >>> from rnnsearch_tf.config import ModelConfig
        >>> sizes = dict(embedding_size=4, hidden_size=5, alignment_size=5, maxout_size=3, output_rank=None)
        >>> model = RNNSearch(ModelConfig(**sizes), 10, 12)
        >>> ids = tf.constant([[3, 4, 1], [5, 1, 0]])
        >>> model({"source_ids": ids, "target_ids": ids}).shape
        TensorShape([2, 3, 12])
    """

    def __init__(self, config, source_vocabulary_size, target_vocabulary_size, seed=0, **keywords):
        super().__init__(**keywords)
        if isinstance(config, dict):
            config = load_config(values={"model": config}).model
        self.config: ModelConfig = config
        self.source_vocabulary_size = source_vocabulary_size
        self.target_vocabulary_size = target_vocabulary_size
        self.seed = seed
        seeds, policy = Seeds(seed), self.dtype_policy
        common = dict(biases=config.biases, initialization=config.initialization, dtype=policy)
        self.source_embedding = WordEmbedding(
            source_vocabulary_size, config.embedding_size, seed=seeds.next(), name="source_embedding", **common
        )
        self.target_embedding = WordEmbedding(
            target_vocabulary_size, config.embedding_size, seed=seeds.next(), name="target_embedding", **common
        )
        self.encoder = BiGRUEncoder(config.hidden_size, seed=seeds.next(), name="encoder", **common)
        self.decoder = Decoder(config.hidden_size, config.alignment_size, seed=seeds.next(), name="decoder", **common)
        self.output_layer = DeepOutput(
            target_vocabulary_size, config.maxout_size, config.output_rank, dropout=config.readout_dropout,
            seed=seeds.next(), tied=config.tie_target_embeddings, name="deep_output", **common,
        )
        self.drop_words = Dropout(config.embedding_dropout, seed=seeds.next(), dtype=self.variable_dtype)
        self.drop_hidden = Dropout(config.hidden_dropout, seed=seeds.next(), dtype=self.variable_dtype)
        self._build_weights()

    def _build_weights(self):
        m, n = self.config.embedding_size, self.config.hidden_size
        self.source_embedding.build()
        self.target_embedding.build()
        self.encoder.build((None, None, m))
        self.encoder.built = True
        self.decoder.build(m, 2 * n)
        self.output_layer.build(n, m, 2 * n)
        self.built = True

    # Training: all target positions at once.

    def call(self, inputs, training=False):
        features = self.features(inputs["source_ids"], inputs["target_ids"], training)
        return self.output_layer.logits(features, self._output_matrix())

    def features(self, source_ids, target_ids, training=False):
        """What meets the output matrix, at every target position: float [B, I, l or rank]."""
        state, memory = self._encode(source_ids, training)
        previous_ids = tf.pad(target_ids[:, :-1], [[0, 0], [1, 0]], constant_values=PAD_ID)  # y_{i−1}
        previous = self.drop_words(self.target_embedding(previous_ids), training=training)  # [B, I, m]
        if self.config.decoder_order == "look_generate_update":
            first, later = tf.split(previous, [1, -1], axis=1)
            words = tf.concat([later, tf.zeros_like(first)], axis=1)  # y_i; the last is not needed
        else:
            words = previous
        states, contexts, _ = self.decoder(self.decoder.inputs(words), state, memory)
        if self.config.decoder_order != "look_update_generate":
            earlier, _ = tf.split(states, [-1, 1], axis=1)
            states = tf.concat([state[:, tf.newaxis], earlier], axis=1)  # s_{i−1}
        states = self.drop_hidden(states, training=training)
        return self.output_layer.features(states, previous, contexts, training)

    def token_losses(self, inputs, label_smoothing=0.0, training=False):
        """Loss and negative log-likelihood of every real target word, padding left out.

        Returns:
            (losses [N], nll [N]), in nats; N counts the batch's target words, end symbols included.
        """
        features = self.features(inputs["source_ids"], inputs["target_ids"], training)
        real = tf.where(inputs["target_ids"] != PAD_ID)
        matrix = self._output_matrix()
        return softmax_loss(
            tf.gather_nd(features, real),
            tensor(self.output_layer.W_o) if matrix is None else matrix,
            tensor(self.output_layer.b_softmax),
            tf.gather_nd(inputs["target_ids"], real),
            label_smoothing,
            transpose=matrix is not None,
            dtype=self.output_layer.product_dtype,
        )

    # Search: one target position at a time.

    def start(self, source_ids):
        """Read the source: state before the first word, and what attention will look at.

        Args:
            source_ids: int32 [B, J].

        Returns:
            (state, memory): state a dictionary of float [B, ...]; memory an AttentionMemory.
        """
        state, memory = self._encode(source_ids)
        start = {"state": state}
        if self.config.decoder_order == "look_generate_update":
            start["context"] = tf.zeros_like(memory.annotations[:, 0])
        return start, memory

    def step(self, previous_ids, state, memory):
        """Probabilities of the next word of K hypotheses a sentence.

        Args:
            previous_ids: int32 [B, K]: y_{i−1}; 0 before the first word.
            state: as :meth:`start` gives it, with an axis K after the first.
            memory: AttentionMemory, [B, ...].

        Returns:
            (log_probabilities float32 [B, K, V], alignment float32 [B, K, J], state).
        """
        previous = self.target_embedding(previous_ids)  # [B, K, m]
        inputs = self.decoder.inputs(previous)
        before = state["state"]  # [B, K, n]
        if self.config.decoder_order == "look_generate_update":
            # The update with y_{i−1}, put off by training to the end of step i − 1, is due now.
            updated = self.decoder.update(before, inputs, state["context"])
            read = tf.where((previous_ids == PAD_ID)[..., tf.newaxis], before, updated)
            context, alignment = self.decoder.attend(read, memory)
            state = {"state": read, "context": context}
        else:
            context, alignment = self.decoder.attend(before, memory)
            after = self.decoder.update(before, inputs, context)
            read = after if self.config.decoder_order == "look_update_generate" else before
            state = {"state": after}
        logits = self.output_layer(read, previous, context, self._output_matrix())
        log_probabilities = tf.nn.log_softmax(tf.cast(logits, tf.float32))
        return log_probabilities, tf.cast(alignment, tf.float32), state

    def _encode(self, source_ids, training=False):
        """(s_0 [B, n], AttentionMemory) of a batch of source sentences."""
        mask = source_ids != PAD_ID
        words = self.drop_words(self.source_embedding(source_ids), training=training)
        annotations = self.encoder(words, mask)
        memory = self.decoder.attention.memory(self.drop_hidden(annotations, training=training), mask)
        return self.decoder.initial_state(annotations), memory

    def _output_matrix(self):
        return tensor(self.target_embedding.E) if self.config.tie_target_embeddings else None

    def paper_weights(self):
        """Every weight by its symbol in the paper, as NumPy arrays for ``x @ W``: input size first.

        Encoder weights are ``encoder.forward.U`` and so on; embeddings ``E_source``,
        ``E_target``; biases, where the option has them, ``b``, ``b_s``, ``b_o``, ``b_softmax``,
        ``b_E_source``, ``b_E_target``. A tied output matrix appears as E_targetᵀ.
        """
        numpy = keras.ops.convert_to_numpy
        weights = self.encoder.paper_weights() | self.decoder.paper_weights() | self.output_layer.paper_weights()
        for side, layer in (("source", self.source_embedding), ("target", self.target_embedding)):
            weights[f"E_{side}"] = numpy(layer.E)
            if layer.b_E is not None:
                weights[f"b_E_{side}"] = numpy(layer.b_E)
        if self.config.tie_target_embeddings:
            weights["W_o2" if self.config.output_rank else "W_o"] = weights["E_target"].T
        return weights

    def get_config(self):
        return super().get_config() | {
            "config": dataclasses.asdict(self.config),
            "source_vocabulary_size": self.source_vocabulary_size,
            "target_vocabulary_size": self.target_vocabulary_size,
            "seed": self.seed,
        }
