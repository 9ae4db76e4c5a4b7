"""What the systems have in common: word embeddings, an output matrix, one step for search and training.

A system adds its layers, and says how it begins and how it goes on; everything else
(training, scoring, search, saving) is the same for all.
"""

import dataclasses

import numpy as np
import tensorflow as tf

from rnnsearch_tf.backend import keras
from rnnsearch_tf.config import PAD_ID, ModelConfig, load_config
from rnnsearch_tf.layers import WordEmbedding
from rnnsearch_tf.layers.base import tensor
from rnnsearch_tf.layers.dropout import Dropout
from rnnsearch_tf.layers.initializers import Seeds
from rnnsearch_tf.layers.output_matrix import output_weights, word_logits
from rnnsearch_tf.layers.softmax_loss import log_sum_exp, softmax_loss
from rnnsearch_tf.models.translation_model import TranslationModel


class SequenceModel(TranslationModel):
    """Base of the systems, trained with ``compile`` and ``fit``.

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

    A subclass provides::

        _add_layers(seeds, common)    its layers, built; one of them ``self.output_layer``
        features(source_ids, target_ids, training)    what meets the output matrix, float [B, I, l]
        start(source_ids)    see search/interface.py
        step_features(previous_ids, state, memory)    as :meth:`step`, but what meets the output matrix for log-probabilities
        _layer_weights()    its weights by the paper's symbols, embeddings left out
        has_attention, reads_source, embedding_bias, paper_initialization    class attributes
    """

    has_attention = False  # whether the alignments that `step` returns mean anything
    reads_source = True  # whether there is a source embedding; only a language model has none
    paper_initialization = "paper"  # what ``initialization: paper`` is in this system's paper
    embedding_bias = True  # whether an embedding has a bias, where the option biases has any

    def __init__(self, config, source_vocabulary_size, target_vocabulary_size, seed=0, **keywords):
        super().__init__(**keywords)
        if isinstance(config, dict):
            config = load_config(values={"model": config}).model
        self.config: ModelConfig = config
        self.source_vocabulary_size = source_vocabulary_size
        self.target_vocabulary_size = target_vocabulary_size
        self.seed = seed
        seeds = Seeds(seed)
        initialization = self.paper_initialization if config.initialization == "paper" else config.initialization
        common = dict(biases=config.biases, initialization=initialization, dtype=self.dtype_policy)
        embedding = common | {"scaled": config.scale_embeddings} | ({} if self.embedding_bias else {"biases": "none"})
        source_seed, self.source_embedding = seeds.next(), None
        if self.reads_source:
            self.source_embedding = WordEmbedding(
                source_vocabulary_size, config.embedding_size, seed=source_seed, name="source_embedding", **embedding
            )
            self.source_embedding.build((None, None))
        self.target_embedding = WordEmbedding(
            target_vocabulary_size, config.embedding_size, tied=config.tie_target_embeddings, seed=seeds.next(),
            name="target_embedding", **embedding,
        )
        self.target_embedding.build((None, None))
        self._add_layers(seeds, common)
        self.drop_words = self._dropout("drop_words", config.embedding_dropout, config.embedding_size, seeds)
        self.drop_hidden = self._dropout("drop_hidden", config.hidden_dropout, config.hidden_size, seeds)
        self.built = True

    def _dropout(self, name, share, size, seeds):
        """A layer that drops a share of values float [B, T, size]."""
        layer = Dropout(share, seed=seeds.next(), dtype=self.variable_dtype, name=name)
        layer.build((None, None, size))
        return layer

    def call(self, inputs, training=False):
        features = self.features(inputs["source_ids"], inputs["target_ids"], training)
        return self.output_layer.logits(features, self._output_matrix())

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

    def previous_words(self, target_ids, training=False):
        """Embeddings of the words before each target position, none before the first: [B, I] → [B, I, m]."""
        previous_ids = tf.pad(target_ids[:, :-1], [[0, 0], [1, 0]], constant_values=PAD_ID)  # y_{i−1}
        return self.drop_words(self.target_embedding(previous_ids), training=training)

    def output_weights(self, words=None, products=1):
        """The output layer's weights for all words or some, to be handed to :meth:`step`; see layers/output_matrix.py."""
        return output_weights(self.output_layer, self._output_matrix(), words, products)

    def step(self, previous_ids, state, memory, output=None, word_biases=None):
        """Probabilities of the next word of K hypotheses a sentence; see search/interface.py.

        Args:
            previous_ids: int32 [B, K]: y_{i−1}; 0 before the first word.
            state: as :meth:`start` gives it, with an axis K after the first.
            memory: as :meth:`start` gives it, [B, ...].
            output: from :meth:`output_weights`; V is then the number of its words. None: those of all words.
            word_biases: float [B, V], added to the logits of a sentence: a very negative one rules a word out.

        Returns:
            (log_probabilities float32 [B, K, V], alignment float32 [B, K, J], state).
        """
        logits, *rest = self.unnormalized_step(previous_ids, state, memory, output, word_biases)
        return logits - log_sum_exp(logits, tf.nn.softmax(logits))[..., tf.newaxis], *rest

    def unnormalized_step(self, previous_ids, state, memory, output=None, word_biases=None):
        """As :meth:`step`, with logits for log-probabilities: beam search normalizes few of them."""
        features, alignment, state = self.step_features(previous_ids, state, memory)
        logits = tf.cast(word_logits(features, output or self.output_weights(), self.output_layer.product_dtype), tf.float32)
        logits = logits if word_biases is None else logits + word_biases[:, tf.newaxis]
        return logits, tf.cast(alignment, tf.float32), state

    def _output_matrix(self):
        return tensor(self.target_embedding.E) if self.config.tie_target_embeddings else None

    def paper_weights(self):
        """Every weight by its symbol in the paper, as NumPy arrays for ``x @ W``: input size first.

        Embeddings are ``E_source`` and ``E_target``, with their biases ``b_E_source`` and
        ``b_E_target`` where the option has them, as they are looked up, scaled or not.
        """
        numpy = keras.ops.convert_to_numpy
        weights = self._layer_weights()
        for side, layer in (("source", self.source_embedding), ("target", self.target_embedding)):
            if layer is None:
                continue
            weights[f"E_{side}"] = numpy(layer.E) * np.asarray(layer.factor, layer.E.dtype)
            if layer.b_E is not None:
                weights[f"b_E_{side}"] = numpy(layer.b_E)
        if self.config.tie_target_embeddings:
            weights[self.output_layer.symbol] = numpy(self.target_embedding.E).T
        return weights

    def get_config(self):
        return super().get_config() | {
            "config": dataclasses.asdict(self.config),
            "source_vocabulary_size": self.source_vocabulary_size,
            "target_vocabulary_size": self.target_vocabulary_size,
            "seed": self.seed,
        }
