"""What every model of the family shares: the training step under ``model.fit``, and its metrics.

A model brings ``token_losses``; ``compile`` brings the optimizer and a
:class:`TranslationLoss`; ``fit`` takes batches {"source_ids", "target_ids"}.
"""

import contextlib
import warnings

import tensorflow as tf

from rnnsearch_tf.backend import keras
from rnnsearch_tf.config import PAD_ID
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.parallel import split_batch

REDUCTIONS = ("sum", "batch_mean", "token_mean")


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class TranslationLoss(keras.losses.Loss):
    """What the gradient is taken of: cross-entropy of the target words, padding left out.

    The models compute it fused with the softmax (``layers/softmax_loss.py``); called by
    itself, on logits, it is the plain definition.

    Args:
        reduction: ``sum`` of all words' losses of the batch, as the authors' program has it;
            ``batch_mean``: divided by the sentences; ``token_mean``: divided by the words.
        label_smoothing: ε, share of probability spread evenly over the vocabulary.

    Call arguments:
        target_ids: int32 [B, I], 0 is padding.
        logits: float [B, I, V].

    Returns:
        float scalar, in nats.
    """

    def __init__(self, reduction="sum", label_smoothing=0.0, name="translation_loss"):
        super().__init__(name=name, reduction="sum")
        if reduction not in REDUCTIONS:
            raise UsageError(f"TranslationLoss: expected reduction to be one of {', '.join(REDUCTIONS)}, got {reduction!r}")
        self.reduction = reduction
        self.label_smoothing = label_smoothing

    def reduce(self, losses, sentences):
        """Scalar from the losses [N] of all words of a batch of ``sentences`` sentences."""
        total = tf.reduce_sum(losses)
        if self.reduction == "sum":
            return total
        count = sentences if self.reduction == "batch_mean" else tf.size(losses)
        return total / tf.cast(tf.maximum(count, 1), losses.dtype)

    def __call__(self, target_ids, logits, sample_weight=None):
        real = target_ids != PAD_ID
        log_probabilities = tf.nn.log_softmax(logits)
        nll = -tf.gather(log_probabilities, target_ids, batch_dims=2)
        smooth = -tf.reduce_mean(log_probabilities, axis=-1)
        losses = (1 - self.label_smoothing) * nll + self.label_smoothing * smooth
        return self.reduce(tf.boolean_mask(losses, real), tf.shape(target_ids)[0])

    def get_config(self):
        return {"reduction": self.reduction, "label_smoothing": self.label_smoothing, "name": self.name}


class LossPerToken(keras.metrics.Mean):
    """Mean negative log-likelihood of a target word, in nats, end symbols included; no smoothing."""


class Perplexity(keras.metrics.Mean):
    """exp of the mean negative log-likelihood of a target word."""

    def result(self):
        return tf.exp(super().result())


class TokensPerSecond(keras.metrics.Metric):
    """Target words (end symbols counted, padding not) a second of wall time, the first batch left out."""

    def __init__(self, name):
        super().__init__(name=name, dtype="float64")
        self.tokens = self.add_weight(name="tokens", initializer="zeros", dtype="float64")
        self.since = self.add_weight(name="since", initializer="zeros", dtype="float64")
        self.now = self.add_weight(name="now", initializer="zeros", dtype="float64")

    def update_state(self, tokens):
        now, started = tf.timestamp(), self.since > 0
        self.tokens.assign_add(tf.where(started, tf.cast(tokens, tf.float64), 0.0))
        self.since.assign(tf.where(started, self.since, now))
        self.now.assign(now)

    def result(self):
        return tf.math.divide_no_nan(tf.convert_to_tensor(self.tokens), self.now - self.since)


class TranslationModel(keras.Model):
    """Base of the family's models: how one batch is learned from.

    A subclass provides::

        token_losses(inputs, label_smoothing, training) -> (losses [N], nll [N])
        start(source_ids) -> (state, memory)
        step(previous_ids, state, memory) -> (log_probabilities, alignment, state)

    Attributes:
        shards: int, 1; set before ``fit``: shards of a batch that are computed at the same time. See parallel.py.
    """

    def __init__(self, **keywords):
        super().__init__(**keywords)
        self.autocast = False  # see layers/base.py
        self.supports_jit = False  # XLA would compile every batch shape anew
        self.shards = 1
        self.loss_metric = LossPerToken(name="loss", dtype="float64")
        self.perplexity_metric = Perplexity(name="perplexity", dtype="float64")
        self.speed_metric = TokensPerSecond(name="target_tokens_per_second")
        self.norm_metric = keras.metrics.Mean(name="gradient_norm", dtype="float64")

    def compile(self, *arguments, metrics=None, weighted_metrics=None, **keywords):
        """Keras's ``compile``; the metrics are the model's own: loss per token, perplexity, tokens a second, gradient norm.

        Raises:
            UsageError: other metrics are asked for, which the fused loss, without logits, could not feed.
        """
        if metrics or weighted_metrics:
            raise UsageError(
                f"{type(self).__name__}.compile: expected no metrics, got {metrics or weighted_metrics!r}; loss, perplexity, "
                "target_tokens_per_second and gradient_norm are always reported, BLEU by Translator and evaluation.bleu"
            )
        super().compile(*arguments, **keywords)

    def compile_from_config(self, config):
        """As Keras does it when a model is loaded, but for a model with a ``compile`` of its own, which Keras leaves uncompiled."""
        self.compile(**keras.saving.deserialize_keras_object(config))
        if self.optimizer is not None and self.built:
            self.optimizer.build(self.trainable_variables)

    def fit(self, x=None, *arguments, **keywords):
        """Keras's ``fit``, without its warnings that a dataset is not shuffled again, and at the end of one of unknown size."""
        if isinstance(x, tf.data.Dataset):
            keywords.setdefault("shuffle", False)
        with _datasets_may_end():
            return super().fit(x, *arguments, **keywords)

    def evaluate(self, *arguments, **keywords):
        """Keras's ``evaluate``, without the same warning."""
        with _datasets_may_end():
            return super().evaluate(*arguments, **keywords)

    def export(self, filepath, format="tf_saved_model", input_signature=None, **keywords):
        """Keras's ``export``: ids in, logits out. With text and beam search inside, a model is exported by ``rnnsearch_tf.export``.

        Args:
            input_signature: as Keras has it; None: ``source_ids`` and ``target_ids``, int32 [B, J] and [B, I].
        """
        if input_signature is None:
            ids = {name: keras.InputSpec(shape=(None, None), dtype="int32", name=name) for name in ("source_ids", "target_ids")}
            input_signature = [ids]
        super().export(filepath, format=format, input_signature=input_signature, **keywords)

    @property
    def metrics(self):
        return [self.loss_metric, self.perplexity_metric, self.speed_metric, self.norm_metric]

    def train_step(self, data):
        """One update from one batch (Keras calls it inside its ``tf.function``)."""
        inputs = _inputs(data)
        loss = self._loss_object()
        with tf.GradientTape() as tape:
            losses, nll = self._sharded_losses(inputs, loss.label_smoothing)
            objective = self.optimizer.scale_loss(loss.reduce(losses, tf.shape(inputs["source_ids"])[0]))
        weights = self.trainable_variables
        gradients = [tf.convert_to_tensor(g) for g in tape.gradient(objective, weights)]  # those of embeddings are IndexedSlices
        self.optimizer.apply(gradients, weights)
        norm = getattr(self.optimizer, "gradient_norm", None)
        _update_finite(self.norm_metric, tf.linalg.global_norm(gradients) if norm is None else tf.convert_to_tensor(norm))
        self._count(nll)
        self.speed_metric.update_state(tf.size(nll))
        return self.get_metrics_result()

    def test_step(self, data):
        """Loss per token and perplexity of one batch."""
        inputs = _inputs(data)
        _, nll = self.token_losses(inputs)
        self._count(nll)
        return {"loss": self.loss_metric.result(), "perplexity": self.perplexity_metric.result()}

    def _sharded_losses(self, inputs, label_smoothing):
        """``token_losses`` in training; each shard of the batch has operations of its own, so that no core waits for another."""
        rows = inputs["source_ids"].shape[0]
        shards = self.shards if rows is None else max(1, min(self.shards, rows))
        if shards == 1:
            return self.token_losses(inputs, label_smoothing, training=True)
        losses = [self.token_losses(shard, label_smoothing, training=True) for shard in split_batch(inputs, shards)]
        return [tf.concat(values, axis=0) for values in zip(*losses)]

    def _count(self, nll):
        mean = tf.math.divide_no_nan(tf.reduce_sum(nll), tf.cast(tf.size(nll), nll.dtype))
        for metric in (self.loss_metric, self.perplexity_metric):
            _update_finite(metric, mean, tf.size(nll))

    def _loss_object(self):
        if isinstance(self.loss, TranslationLoss):
            return self.loss
        raise UsageError(
            f"{type(self).__name__}.compile: expected loss=TranslationLoss(...), got {self.loss!r}; "
            "use rnnsearch_tf.models.TranslationLoss(reduction='sum')"
        )


def _inputs(data):
    """The dictionary of ids of a batch of ``fit`` or ``evaluate``."""
    inputs, targets, weights = keras.utils.unpack_x_y_sample_weight(data)
    for name, extra in (("y", targets), ("sample_weight", weights)):
        if extra is not None:
            raise UsageError(
                f"fit: expected batches of source_ids and target_ids alone, got {name} too; the targets are among the inputs, and pairs "
                "are weighted by data.corpora"
            )
    return inputs


@contextlib.contextmanager
def _datasets_may_end():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Your input ran out of data")
        yield


def _update_finite(metric, value, weight=1):
    """Count a value into a mean, unless it is NaN or Inf, which would stay there for the whole epoch."""
    finite = tf.math.is_finite(value)
    weight = tf.where(finite, tf.cast(weight, tf.float64), 0.0)
    metric.update_state(tf.where(finite, value, tf.zeros_like(value)), sample_weight=weight)
