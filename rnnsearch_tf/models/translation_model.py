"""Base class of the systems: training under ``model.fit``, one step for search, saving.

The path from a batch to its loss: ``train_step``, ``token_losses``, ``attended_features`` of the
system, its layers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import PAD_ID, ModelConfig, check_value, load_config
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.layers.dropout import Dropout
from rnnsearch_tf.layers.embedding import WordEmbedding
from rnnsearch_tf.models.loss import TranslationLoss, batch_counts, weighted, word_losses
from rnnsearch_tf.models.scoring import TargetScores, score_targets
from rnnsearch_tf.runtime import fused_optimizers  # noqa: F401  registers those of saved models
from rnnsearch_tf.runtime.backend import Nest, keras
from rnnsearch_tf.runtime.keras_internals import BuiltModel

Batch: TypeAlias = Mapping[str, tf.Tensor] | tuple[tf.Tensor, tf.Tensor]
"""``source_ids`` [B, J] and ``target_ids`` [B, I], as a dictionary or as a pair."""


class TranslationModel(BuiltModel):
    """Base class of the systems, trained with ``compile(optimizer, loss=TranslationLoss(...))`` and
    ``fit``.

    Args:
        config: ModelConfig, or a dictionary of its options. None: the defaults.
        source_vocabulary_size: K_x, including special tokens.
        target_vocabulary_size: K_y.
        name, trainable: arguments of every Keras model.
        dtype: ``float32``, ``float64`` or ``mixed_bfloat16``.
        options: fields of ModelConfig that replace those of ``config``, such as
            ``hidden_size=256``; see ``config/options.py``.

    ``keras.utils.set_random_seed`` determines the initial weights.

    Call arguments:
        inputs: ``source_ids`` int32 [B, J] and ``target_ids`` int32 [B, I], as a dictionary with
            these names or as a pair; both with a final end symbol and padded with 0 on the right.

    Returns:
        logits float [B, I, V]: position i predicts target_ids[:, i].

    A subclass provides::

        _add_layers(common)    build the layers, one of them an OutputMatrix as ``output_layer``
        attended_features(source_ids, target_ids, training)    (what the output matrix is
            multiplied with, float [B, I, l]; alignments [B, I, J])
        start(source_ids)    (state, memory); see ``search.beam.Model``
        step_features(previous_ids, state, memory)    like :meth:`step`, with what the
            output matrix is multiplied with instead of logits
        letters()    its weights by the papers' letters, with ``super().letters()``
        system, has_attention, reads_source, embedding_bias, paper_initialization    class
            attributes
    """

    system: str | None = None  # the value of the option model.system
    has_attention = False  # whether `step` returns meaningful alignments
    reads_source = True  # whether there is a source embedding; only a language model has none
    paper_initialization = "paper"  # meaning of ``initialization: paper`` for this system
    embedding_bias = True  # whether embeddings have a bias, unless biases is "none"

    def __init__(
        self,
        config: ModelConfig | dict[str, Any] | None = None,
        source_vocabulary_size: int | None = None,
        target_vocabulary_size: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        check_value("training.precision", self.dtype_policy.name, f"{type(self).__name__}: dtype")
        self.autocast = False  # see layers/base.py
        self.config = config = self._checked(config, options)
        if source_vocabulary_size is None or target_vocabulary_size is None:
            raise UsageError(
                f"{type(self).__name__}: expected source_vocabulary_size and"
                f" target_vocabulary_size, got {source_vocabulary_size} and"
                f" {target_vocabulary_size}; give the number of entries of each vocabulary"
            )
        self.source_vocabulary_size = source_vocabulary_size
        self.target_vocabulary_size = target_vocabulary_size
        # means over the target tokens, in nats, without label smoothing
        self.loss_metric = keras.metrics.Mean(name="loss", dtype="float64")
        self.norm_metric = keras.metrics.Mean(name="gradient_norm", dtype="float64")
        self.tokens_metric = keras.metrics.Sum(name="target_tokens", dtype="float64")
        common: dict[str, Any] = dict(
            biases=config.biases,
            initialization=(
                self.paper_initialization
                if config.initialization == "paper"
                else config.initialization
            ),
            dtype=self.dtype_policy,
        )
        embedding = common | {"scaled": config.scale_embeddings}
        if not self.embedding_bias:
            embedding["biases"] = "none"
        m = config.embedding_size
        self.source_embedding: Any = None  # of a CSLM
        if self.reads_source:
            self.source_embedding = WordEmbedding(
                source_vocabulary_size, m, name="source_embedding", **embedding
            )
            self.source_embedding.build()
        self.target_embedding = WordEmbedding(
            target_vocabulary_size,
            m,
            tied=config.tie_target_embeddings,
            name="target_embedding",
            **embedding,
        )
        self.target_embedding.build()
        self._add_layers(common)
        self.drop_words = self._dropout("drop_words", config.embedding_dropout)
        self.drop_hidden = self._dropout("drop_hidden", config.hidden_dropout)
        self.built = True
        self.trainable = trainable  # now that there are layers, of these too

    def _checked(self, config: ModelConfig | dict[str, Any] | None, options: Any) -> ModelConfig:
        """The configuration with these options on top."""
        if options or not isinstance(config, ModelConfig):
            if isinstance(config, ModelConfig):
                config = dataclasses.asdict(config)
            values = {**(config or {"system": self.system}), **options}
            config = load_config(values={"model": values}).model
        if config.system != self.system:
            raise UsageError(
                f"{type(self).__name__}: expected a configuration with system={self.system}, got"
                f" {config.system}; build_model chooses the class of a configuration"
            )
        return config

    def _dropout(self, name: str, rate: float) -> Dropout:
        return Dropout(rate, dtype=self.variable_dtype, name=name)

    # Training.

    @property
    def metrics(self) -> list[keras.metrics.Metric]:
        return [self.loss_metric, self.norm_metric, self.tokens_metric]

    def get_metrics_result(self) -> dict[str, tf.Tensor]:
        """The metrics by name, and the perplexity of a word."""
        result = super().get_metrics_result()
        return result | {"perplexity": tf.exp(result["loss"])}

    def train_step(self, data: Any) -> dict[str, tf.Tensor]:
        """One update from one batch, or from a replica's share of it."""
        source_ids, target_ids, weights = self._batch(data)
        # The last step of an epoch finds no batch: it draws no random numbers of dropout, and is
        # not counted in optimizer.iterations.
        with tf.control_dependencies([source_ids, target_ids]):
            sentences, tokens = batch_counts(target_ids)
            with tf.GradientTape() as tape:
                losses, nll = self.token_losses(
                    (source_ids, target_ids), self.loss.label_smoothing, training=True
                )
                if weights is not None:
                    losses = weighted(losses, target_ids, weights)
                counts = [tf.cast(count, losses.dtype) for count in (sentences, tokens)]
                objective = self.loss.reduce(losses, *_sums(counts))
            variables = self.trainable_variables
            if not variables:
                raise UsageError(
                    "fit: expected a model with trainable weights, got one without; load a run to"
                    " train it with rnnsearch_tf.load_model"
                )
            gradients = [
                tf.zeros_like(weight) if gradient is None else tf.convert_to_tensor(gradient)
                for gradient, weight in zip(tape.gradient(objective, variables), variables)
            ]
            self._apply(gradients, objective, variables)
            self._count(tf.reduce_sum(nll), tokens)
        return self.get_metrics_result()

    def _apply(
        self, gradients: list[tf.Tensor], objective: tf.Tensor, variables: list[keras.Variable]
    ) -> None:
        """Clip the gradient, summed over all replicas, and update the weights."""
        replicas = tf.distribute.get_strategy().num_replicas_in_sync
        *gradients, objective = _sums([*gradients, objective])
        norm = tf.linalg.global_norm(gradients)
        limit = self.optimizer.global_clipnorm
        if limit:
            gradients, _ = tf.clip_by_global_norm(gradients, limit, use_norm=norm)
        if self.loss.non_finite_gradient == "decay_weights":
            valid = tf.math.is_finite(norm) & tf.math.is_finite(objective)
            gradients = [
                tf.where(valid, g, 0.1 * tf.convert_to_tensor(w))
                for g, w in zip(gradients, variables)
            ]
        self.norm_metric.update_state(norm)
        if replicas > 1:
            gradients = [gradient / replicas for gradient in gradients]  # Keras sums them again
            self.optimizer.apply(gradients, variables)
            return
        self.optimizer.global_clipnorm = None  # clipped above
        self.optimizer.apply(gradients, variables)
        self.optimizer.global_clipnorm = limit

    def test_step(self, data: Any) -> dict[str, tf.Tensor]:
        """Loss per token and perplexity of one batch, of all replicas together."""
        source_ids, target_ids, _ = self._batch(data)
        _, nll = self.token_losses((source_ids, target_ids))
        # Keras takes the mean of what the replicas return
        self._count(*_sums([tf.reduce_sum(nll), tf.cast(tf.size(nll), nll.dtype)]))
        loss = self.loss_metric.result()
        return {"loss": loss, "perplexity": tf.exp(loss)}

    def predict_step(self, data: Any) -> tf.Tensor:
        """The logits of one batch, in any form that ``fit`` takes."""
        inputs, target_ids, _ = keras.utils.unpack_x_y_sample_weight(data)
        return self(inputs if target_ids is None else (inputs, target_ids), training=False)

    def _count(self, nll: tf.Tensor, tokens: tf.Tensor) -> None:
        """Update the metrics of the words by the sum of their negative log-likelihoods."""
        mean = tf.math.divide_no_nan(nll, tf.cast(tokens, nll.dtype))
        self.loss_metric.update_state(mean, sample_weight=tokens)
        self.tokens_metric.update_state(tokens)

    def _batch(self, data: Any) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor | None]:
        """(source_ids, target_ids, weights of the sentences [B] or None) of what ``fit`` is
        given.
        """
        if not isinstance(self.loss, TranslationLoss):
            raise UsageError(
                f"{type(self).__name__}.compile: expected loss=TranslationLoss(...), got"
                f" {self.loss!r}; use rnnsearch_tf.models.TranslationLoss(reduction='sum')"
            )
        inputs, target_ids, weights = keras.utils.unpack_x_y_sample_weight(data)
        return *ids_of(inputs if target_ids is None else (inputs, target_ids)), weights

    def token_losses(
        self, inputs: Batch, label_smoothing: float = 0.0, training: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Loss and negative log-likelihood of every real target token, without padding.

        Args:
            inputs: a batch.
            label_smoothing: see :class:`TranslationLoss`.
            training: whether dropout is active.

        Returns:
            (losses [N], nll [N]), in nats; N is the number of target tokens of the batch, including
            end symbols.
        """
        source_ids, target_ids = ids_of(inputs)
        features, _ = self.attended_features(source_ids, target_ids, training)
        real = tf.where(target_ids != PAD_ID)
        logits = self.logits(tf.gather_nd(features, real))
        return word_losses(logits, tf.gather_nd(target_ids, real), label_smoothing)

    # The model.

    def call(self, inputs: Batch, training: bool = False) -> tf.Tensor:
        features, _ = self.attended_features(*ids_of(inputs), training)
        return self.logits(features)

    def compute_mask(self, inputs: Batch, previous_mask: Nest = None) -> tf.Tensor:
        """Mask of the logits, bool [B, I]."""
        return ids_of(inputs)[1] != PAD_ID

    def logits(self, features: tf.Tensor) -> tf.Tensor:
        """Logits [..., V] of what the output matrix is multiplied with [..., l]."""
        return self.output_layer.logits(features, self.target_embedding.E)

    def source_words(
        self, source_ids: tf.Tensor, training: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """(embeddings [B, J, m], mask [B, J]) of source ids."""
        words = self.drop_words(self.source_embedding(source_ids), training=training)
        return words, source_ids != PAD_ID

    def previous_words(self, target_ids: tf.Tensor, training: bool = False) -> tf.Tensor:
        """Embeddings of the word before each target position: [B, I] → [B, I, m]. Before the first
        it is zero.
        """
        # y_{i−1}
        previous_ids = tf.pad(target_ids[:, :-1], [[0, 0], [1, 0]], constant_values=PAD_ID)
        return self.drop_words(self.target_embedding(previous_ids), training=training)

    def step(
        self, previous_ids: tf.Tensor, state: Nest, memory: Nest
    ) -> tuple[tf.Tensor, tf.Tensor, Nest]:
        """(logits float32 [B, K, V] of the next word, alignment float32 [B, K, J], state); for the
        arguments see ``search.beam.Model``.
        """
        features, alignment, state = self.step_features(previous_ids, state, memory)
        return tf.cast(self.logits(features), tf.float32), tf.cast(alignment, tf.float32), state

    def score_targets(self, source_ids: tf.Tensor, target_ids: tf.Tensor) -> TargetScores:
        """The log-probability and the alignment of every target token; see
        :func:`~rnnsearch_tf.models.scoring.score_targets`.
        """
        return score_targets([self], source_ids, target_ids)

    # Weights.

    def letters(self) -> dict[str, keras.Variable]:
        """The weights by their letters in the papers; lower-case letters are vectors."""
        letters: dict[str, keras.Variable] = {}
        for side, layer in ("source", self.source_embedding), ("target", self.target_embedding):
            if layer is not None:
                letters |= {f"{weight.name}_{side}": weight for weight in layer.weights}
        return letters

    def paper_weights(self) -> dict[str, np.ndarray]:
        """All weights by their letters in the papers, as NumPy arrays for ``x @ W``: input size
        first.

        Embeddings are ``E_source`` and ``E_target``, scaled if the option says so. A tied output
        matrix is the transposed ``E_target`` without its factor.
        """
        values = {
            letter: keras.ops.convert_to_numpy(weight) for letter, weight in self.letters().items()
        }
        if self.config.tie_target_embeddings:
            values[self.output_layer.symbol] = values["E_target"].T
        return {letter: value * self._factor(letter) for letter, value in values.items()}

    def assign_paper_weights(self, weights: Mapping[str, np.ndarray]) -> None:
        """Set every weight; the inverse of :meth:`paper_weights`.

        Args:
            weights: {letter: array} with the letters and shapes of :meth:`paper_weights`; that of a
                tied output matrix is not read.

        Raises:
            UsageError: a letter is missing or unknown, or an array has another shape; no weight was
                set.
        """
        letters = self.letters()
        given = {letter: np.asarray(value) for letter, value in weights.items()}
        if self.config.tie_target_embeddings:
            given.pop(self.output_layer.symbol, None)
        for letter in {**letters, **given}:
            expected = tuple(letters[letter].shape) if letter in letters else "no such weight"
            got = given[letter].shape if letter in given else "none"
            if expected != got:
                raise UsageError(
                    f"assign_paper_weights: {letter}: expected {expected}, got {got};"
                    " model.paper_weights() lists the letters and their arrays"
                )
        for letter, weight in letters.items():
            weight.assign(given[letter] / self._factor(letter))

    def _factor(self, letter: str) -> np.floating:
        """What a stored weight is multiplied by."""
        factor = self.target_embedding.factor if letter in ("E_source", "E_target") else 1.0
        return np.dtype(self.variable_dtype).type(factor)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {
            "config": dataclasses.asdict(self.config),
            "source_vocabulary_size": self.source_vocabulary_size,
            "target_vocabulary_size": self.target_vocabulary_size,
        }


def no_alignment(target_ids: tf.Tensor, source: tf.Tensor) -> tf.Tensor:
    """Zeros [B, K, J] in place of an alignment: target_ids [B, K], ids or mask of the source
    [B, J].
    """
    return tf.zeros(tf.concat([tf.shape(target_ids), tf.shape(source)[1:]], axis=0))


def ids_of(inputs: Batch) -> tuple[tf.Tensor, tf.Tensor]:
    """(source_ids, target_ids) of a batch, as int32."""
    if isinstance(inputs, Mapping):
        inputs = inputs["source_ids"], inputs["target_ids"]
    source_ids, target_ids = inputs
    return keras.ops.cast(source_ids, "int32"), keras.ops.cast(target_ids, "int32")


def _sums(tensors: list[tf.Tensor]) -> list[tf.Tensor]:
    """The sums over the replicas of a ``tf.distribute.MirroredStrategy``, each of which has a share
    of the batch.
    """
    if tf.distribute.get_strategy().num_replicas_in_sync == 1:
        return tensors
    return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, tensors)
