"""Base class of the systems: the update under ``model.fit``, one step for search and training, and
saving.

A system adds its layers, a start and a step. ``compile`` takes the optimizer and a
:class:`TranslationLoss`; ``fit`` takes batches {"source_ids", "target_ids"}. With a Keras loss of
logits, ``fit`` takes x = {"source_ids", "target_ids"} and y = target ids, like any Keras model.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from typing_extensions import Self  # in typing since Python 3.11

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.runtime.nests import Nest
from rnnsearch_tf.config import PAD_ID, ModelConfig, load_config
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.layers import WordEmbedding
from rnnsearch_tf.layers.base import Block, as_tensor
from rnnsearch_tf.layers.dropout import Dropout, dropout
from rnnsearch_tf.layers.initializers import seed_stream
from rnnsearch_tf.layers.output import OutputWeights, output_weights, softmax_loss, word_logits
from rnnsearch_tf.models.keras_fit import (
    Batch,
    KerasMethods,
    batch_inputs,
    with_gradients,
    with_int32_ids,
    word_weights,
)
from rnnsearch_tf.models.loss import TranslationLoss, batch_counts
from rnnsearch_tf.models.metrics import MeanOrNaN, Perplexity, TokensPerSecond
from rnnsearch_tf.models.replicas import replica_count, sum_counts, sum_over_replicas
from rnnsearch_tf.models.scoring import TargetScores, score_targets


class TranslationModel(KerasMethods):
    """Base class of the systems, trained with ``compile`` and ``fit``.

    The path from a batch to its loss: :meth:`train_step`, :meth:`token_losses`, ``pre_logits`` of
    the system, its layers.

    Args:
        config: ModelConfig, or a dictionary of its options. None: the options are given as
            keywords.
        source_vocabulary_size: K_x, including special tokens.
        target_vocabulary_size: K_y.
        seed: int; the same seed gives the same initial weights.
        name, trainable: arguments of every Keras model.
        dtype: ``float32``, ``float64`` or ``mixed_bfloat16``.
        options: fields of ModelConfig, such as ``hidden_size=256``; see
            ``config/model_options.py``.

    Call arguments:
        inputs: dictionary of ``source_ids`` int32 [B, J] and ``target_ids`` int32 [B, I],
            both with a final end symbol and padded with 0 on the right.

    Returns:
        logits float [B, I, V]: position i predicts target_ids[:, i].

    A subclass provides::

        _add_layers(seeds, common)    build the layers, one of them as ``self.output_layer``
        pre_logits(source_ids, target_ids, training)    the factor of the output matrix, float
            [B, I, l]
        attended_pre_logits(source_ids, target_ids, training)    (pre_logits, alignments
            [B, I, J]), if it has attention
        start(source_ids)    see ``search.beam.Model``
        step_pre_logits(previous_ids, state, memory)    like :meth:`step`, but returns the factor
            of the output matrix instead of logits
        _blocks()    where its weights are stored, by the paper's letters, without embeddings
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
        seed: int = 0,
        name: str | None = None,
        dtype: str | None = None,
        trainable: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        self.autocast = False  # see layers/base.py
        self.supports_masking = True
        # mean negative log-likelihood of a target token, in nats, without label smoothing
        self.loss_metric = MeanOrNaN(name="loss", dtype="float64")
        self.perplexity_metric = Perplexity(name="perplexity", dtype="float64")
        self.speed_metric = TokensPerSecond(name="target_tokens_per_second")
        self.norm_metric = MeanOrNaN(name="gradient_norm", dtype="float64")
        # share of batches without a finite gradient, if training continues after them
        self.non_finite_metric = MeanOrNaN(name="non_finite_share", dtype="float64")
        if config is not None and options:
            raise UsageError(
                f"{type(self).__name__}: expected a configuration or options, got both:"
                f" {', '.join(options)}; leave one of them out"
            )
        if source_vocabulary_size is None or target_vocabulary_size is None:
            raise UsageError(
                f"{type(self).__name__}: expected source_vocabulary_size and"
                f" target_vocabulary_size, got {source_vocabulary_size} and"
                f" {target_vocabulary_size}; give the number of entries of each vocabulary"
            )
        if config is None:
            config = load_config(values={"model": {"system": self.system, **options}}).model
        elif isinstance(config, dict):  # of a saved model
            config = load_config(values={"model": config}).model
        if config.system != self.system:
            raise UsageError(
                f"{type(self).__name__}: expected a configuration with system={self.system}, got"
                f" {config.system}; build_model chooses the class of a configuration"
            )
        self.config: ModelConfig = config
        config = self.config
        self.source_vocabulary_size = source_vocabulary_size
        self.target_vocabulary_size = target_vocabulary_size
        self.seed = seed
        seeds = seed_stream(seed)
        initialization = (
            self.paper_initialization if config.initialization == "paper" else config.initialization
        )
        common = dict(biases=config.biases, initialization=initialization, dtype=self.dtype_policy)
        embedding = (
            common
            | {"scaled": config.scale_embeddings}
            | ({} if self.embedding_bias else {"biases": "none"})
        )
        source_seed = next(seeds)
        self.source_embedding: WordEmbedding = None  # type: ignore[assignment]  # of a CSLM
        if self.reads_source:
            self.source_embedding = WordEmbedding(
                source_vocabulary_size,
                config.embedding_size,
                seed=source_seed,
                name="source_embedding",
                **embedding,
            )
            self.source_embedding.build((None, None))
        self.target_embedding = WordEmbedding(
            target_vocabulary_size,
            config.embedding_size,
            tied=config.tie_target_embeddings,
            seed=next(seeds),
            name="target_embedding",
            **embedding,
        )
        self.target_embedding.build((None, None))
        self._add_layers(seeds, common)
        self.drop_words = self._dropout(
            "drop_words", config.embedding_dropout, config.embedding_size, seeds
        )
        self.drop_hidden = self._dropout(
            "drop_hidden", config.hidden_dropout, config.hidden_size, seeds
        )
        self.built = True
        self.trainable = trainable  # now that there are layers, of these too

    def _dropout(self, name: str, rate: float, size: int, seeds: Iterator[int]) -> Dropout:
        """A dropout layer for values float [B, T, size]."""
        layer = dropout(rate, seed=next(seeds), dtype=self.variable_dtype, name=name)
        layer.build((None, None, size))
        return layer

    @property
    def metrics(self) -> list[keras.metrics.Metric]:
        own_metrics = [
            self.loss_metric,
            self.perplexity_metric,
            self.speed_metric,
            self.norm_metric,
            self.non_finite_metric,
        ]
        if self._has_keras_loss():
            return [metric for metric in super().metrics if metric not in own_metrics]
        return own_metrics if self._tolerates_non_finite_gradient() else own_metrics[:-1]

    def train_step(self, data: Any) -> dict[str, tf.Tensor]:
        """One update from one batch, or a replica's share of it. Keras calls this inside of its
        ``tf.function``.
        """
        if self._has_keras_loss():
            self._check_keras_batch(data)
            return super().train_step(data)
        inputs = batch_inputs(data)
        return self.update(inputs)

    def update(self, inputs: Batch) -> dict[str, tf.Tensor]:
        """One update; returns the results of the metrics."""
        loss = self._loss_object()
        sentences, tokens = sum_counts(*batch_counts(inputs["target_ids"]))
        self.clear_losses()
        with tf.GradientTape() as tape:
            losses, nll = self.token_losses(inputs, loss.label_smoothing, training=True)
            weights = word_weights(inputs, losses.dtype)
            if weights is not None:
                losses *= weights
            objective = loss.reduce(losses, sentences, tokens)
            # losses of regularizers and add_loss; the sum over replicas counts each of them once
            for added in self.losses:
                objective += tf.cast(added, objective.dtype) / replica_count()
            objective = self.optimizer.scale_loss(objective)
        # those of embeddings are tf.IndexedSlices
        gradients, variables = with_gradients(
            tape.gradient(objective, self.trainable_variables), self.trainable_variables
        )
        weighted_nll = nll if weights is None else nll * weights
        totals = [tf.reduce_sum(weighted_nll), tf.reduce_sum(nll)]
        *gradients, objective, weighted_total, total = sum_over_replicas(
            [*gradients, objective, *totals]
        )
        if hasattr(self.optimizer, "non_finite_gradient"):
            self.optimizer.apply(gradients, variables, objective=objective)
            norm = tf.convert_to_tensor(self.optimizer.gradient_norm)
        else:
            self._refuse_replicas(
                "an optimizer of rnnsearch_tf.build_optimizer", type(self.optimizer).__name__
            )
            self.optimizer.apply(gradients, variables)
            norm = tf.linalg.global_norm(gradients) / self.optimizer.scale_loss(
                tf.ones([], objective.dtype)
            )
        # Must depend on the batch: TensorFlow may count a constant in a step without a batch.
        one = tf.cast(tokens >= 0, tf.float64)
        valid = tf.constant(True)
        if self._tolerates_non_finite_gradient():
            valid = tf.math.is_finite(norm)
            self.non_finite_metric.update_state(tf.cast(~valid, tf.float64), sample_weight=one)
        self._count(weighted_total, total, tokens, valid)
        self.norm_metric.update_state(
            _zero_unless(valid, norm), sample_weight=one * tf.cast(valid, tf.float64)
        )
        self.speed_metric.update_state(tokens)
        results = {
            metric.name: metric.result()
            for metric in self.metrics
            if metric is not self.speed_metric
        }
        return results | {"target_tokens": tf.convert_to_tensor(self.speed_metric.tokens)}

    def test_step(self, data: Any) -> dict[str, tf.Tensor]:
        """Loss per token and perplexity of one batch."""
        if self._has_keras_loss():
            self._check_keras_batch(data)
            return super().test_step(data)
        inputs = batch_inputs(data)
        self.clear_losses()
        _, nll = self.token_losses(inputs)
        weights = word_weights(inputs, nll.dtype)
        weighted_nll = nll if weights is None else nll * weights
        # Keras would take the mean of what the replicas report of their shares
        [tokens] = sum_counts(tf.size(nll))
        totals = [tf.reduce_sum(weighted_nll), tf.reduce_sum(nll)]
        weighted_total, total = sum_over_replicas(totals)
        self._count(weighted_total, total, tokens)
        return {"loss": self.loss_metric.result(), "perplexity": self.perplexity_metric.result()}

    def token_losses(
        self,
        inputs: Batch,
        label_smoothing: float = 0.0,
        training: bool = False,
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
        inputs = with_int32_ids(inputs)
        pre_logits = self.pre_logits(inputs["source_ids"], inputs["target_ids"], training)
        real = tf.where(inputs["target_ids"] != PAD_ID)
        target_ids = tf.gather_nd(inputs["target_ids"], real)
        output = self.output_weights()
        return softmax_loss(
            tf.gather_nd(pre_logits, real),
            output.matrix,
            output.bias,
            target_ids,
            label_smoothing,
            output.tied,
            output.dtype,
        )

    def attended_pre_logits(
        self, source_ids: tf.Tensor, target_ids: tf.Tensor, training: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """(:meth:`pre_logits`, the alignments [B, I, J]: zeros without attention)."""
        pre_logits = self.pre_logits(source_ids, target_ids, training)
        alignments = tf.zeros_like(target_ids[:, :, tf.newaxis] * source_ids[:, tf.newaxis])
        return pre_logits, tf.cast(alignments, pre_logits.dtype)

    def score_targets(self, source_ids: tf.Tensor, target_ids: tf.Tensor) -> TargetScores:
        """The log-probability and the alignment of every target token; see
        :func:`~rnnsearch_tf.models.scoring.score_targets`.
        """
        return score_targets([self], source_ids, target_ids)

    def call(self, inputs: Batch, training: bool = False) -> tf.Tensor:
        inputs = with_int32_ids(inputs)
        return self.logits(self.pre_logits(inputs["source_ids"], inputs["target_ids"], training))

    def compute_mask(self, inputs: Batch, previous_mask: Nest = None) -> tf.Tensor:
        """Mask of the logits, bool [B, I]: Keras's losses and metrics exclude padding."""
        return inputs["target_ids"] != PAD_ID

    def logits(self, pre_logits: tf.Tensor) -> tf.Tensor:
        """Logits [..., V] of the factor of the output matrix [..., l]."""
        return word_logits(pre_logits, self.output_weights())

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

    def output_weights(self) -> OutputWeights:
        """The weights of the output layer; see layers/output.py."""
        matrix = as_tensor(self.target_embedding.E) if self.config.tie_target_embeddings else None
        return output_weights(self.output_layer, matrix)

    def step(
        self, previous_ids: tf.Tensor, state: Nest, memory: Nest
    ) -> tuple[tf.Tensor, tf.Tensor, Nest]:
        """Logits of the next word of K hypotheses of each sentence; see ``search.beam.Model``.

        Args:
            previous_ids: int32 [B, K]: y_{i−1}; 0 before the first word.
            state: from :meth:`start` or a step, [B, K, ...].
            memory: from :meth:`start`, [B, ...].

        Returns:
            (logits float32 [B, K, V], alignment float32 [B, K, J], state).
        """
        pre_logits, alignment, state = self.step_pre_logits(previous_ids, state, memory)
        logits = tf.cast(self.logits(pre_logits), tf.float32)
        return logits, tf.cast(alignment, tf.float32), state

    def paper_weights(self) -> dict[str, np.ndarray]:
        """All weights by their letters in the paper, as NumPy arrays for ``x @ W``: input size
        first.

        Embeddings are ``E_source`` and ``E_target``, scaled if the option says so, with the biases
        ``b_E_source`` and ``b_E_target`` if there are any.
        """
        weights = {name: block.read() for name, block in self.blocks().items()}
        for side, layer in self._embeddings():
            weights[f"E_{side}"] = weights[f"E_{side}"] * np.asarray(layer.factor, layer.E.dtype)
        if self.config.tie_target_embeddings:
            weights[self.output_layer.symbol] = keras.ops.convert_to_numpy(
                self.target_embedding.E
            ).T
        return weights

    def blocks(self) -> dict[str, Block]:
        """Where each of the :meth:`paper_weights` is stored, see ``layers/base.py``.

        The embeddings are stored without their factor; the matrix of a tied output layer is not
        among them.
        """
        blocks = self._blocks()
        for side, layer in self._embeddings():
            blocks |= {f"{name}_{side}": block for name, block in layer.blocks().items()}
        return blocks

    def assign_paper_weights(self, weights: Mapping[str, np.ndarray]) -> None:
        """Set every weight; the inverse of :meth:`paper_weights`.

        Args:
            weights: {name: array} with the names and shapes of :meth:`paper_weights`: embeddings
                with their factor, and the matrix of a tied output layer, too.

        Raises:
            UsageError: a name is missing or unknown, an array has another shape, or the matrix of a
                tied output layer is not that of the embeddings; no weight was set.
        """
        given = {name: np.asarray(value) for name, value in weights.items()}
        shapes = {name: value.shape for name, value in self.paper_weights().items()}
        for name in {**shapes, **given}:
            expected = shapes.get(name, "no such weight")
            got = given[name].shape if name in given else "none"
            if expected != got:
                raise UsageError(
                    f"assign_paper_weights: {name}: expected {expected}, got {got};"
                    " model.paper_weights() lists the names and their arrays"
                )
        values = self._stored(given)
        for name, block in self.blocks().items():
            block.write(values[name])

    def _stored(self, weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The values of :meth:`blocks` that make these :meth:`paper_weights`."""
        values = dict(weights)
        for side, layer in self._embeddings():
            values[f"E_{side}"] = values[f"E_{side}"] / layer.factor
        if self.config.tie_target_embeddings:
            matrix = values.pop(self.output_layer.symbol).T
            if not np.allclose(matrix, values["E_target"], rtol=1e-5, equal_nan=True):
                raise UsageError(
                    "assign_paper_weights: output matrix: expected that of the tied embeddings,"
                    " the transposed E_target without its factor, got other values; change both"
                )
        return values

    def _embeddings(self) -> list[tuple[str, WordEmbedding]]:
        """(side, layer) of the embeddings that the model has."""
        layers = ("source", self.source_embedding), ("target", self.target_embedding)
        return [(side, layer) for side, layer in layers if layer is not None]

    def get_config(self) -> dict[str, Any]:
        frozen = [n for n, layer in enumerate(self.all_layers()) if not layer.trainable]
        return super().get_config() | {
            "config": dataclasses.asdict(self.config),
            "source_vocabulary_size": self.source_vocabulary_size,
            "target_vocabulary_size": self.target_vocabulary_size,
            **({"frozen": frozen} if frozen else {}),
            "seed": self.seed,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """A model as it was saved: its frozen layers are frozen again."""
        config = dict(config)
        frozen = config.pop("frozen", ())
        model: Self = super().from_config(config)
        for number, layer in enumerate(model.all_layers()):
            if number in frozen:
                layer.trainable = False
        return model

    def _count(
        self,
        weighted_nll: tf.Tensor,
        nll: tf.Tensor,
        tokens: tf.Tensor,
        valid: tf.Tensor | bool = True,
    ) -> None:
        """Update loss (with sample weights) and perplexity (without them) by sums over ``tokens``
        tokens, unless ``valid`` is False.
        """
        number = tf.cast(tokens, nll.dtype)
        weight = tf.cast(tokens, tf.float64) * tf.cast(valid, tf.float64)
        for metric, total in ((self.loss_metric, weighted_nll), (self.perplexity_metric, nll)):
            mean = tf.math.divide_no_nan(total, number)  # 0 for a batch with only padding
            metric.update_state(_zero_unless(valid, mean), sample_weight=weight)

    def _tolerates_non_finite_gradient(self) -> bool:
        """Whether the optimizer continues after a gradient that is not finite."""
        return getattr(self.optimizer, "non_finite_gradient", "error") != "error"

    def _loss_object(self) -> TranslationLoss:
        if isinstance(self.loss, TranslationLoss):
            return self.loss
        raise UsageError(
            f"{type(self).__name__}.compile: expected loss=TranslationLoss(...), got {self.loss!r};"
            " use rnnsearch_tf.models.TranslationLoss(reduction='sum')"
        )


def _zero_unless(valid: tf.Tensor | bool, value: tf.Tensor) -> tf.Tensor:
    """The value if it is valid, otherwise zero; a weight of 0 would keep a NaN."""
    return tf.where(valid, value, tf.zeros_like(value))
