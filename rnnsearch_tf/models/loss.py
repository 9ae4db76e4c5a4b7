"""The training objective: the loss of each word of a batch, and their reduction to a scalar."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rnnsearch_tf.config import PAD_ID, check_value
from rnnsearch_tf.runtime.backend import keras


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class TranslationLoss(keras.losses.Loss):
    """The training objective: cross-entropy of the target tokens, without padding.

    The models take its settings and compute it for real positions only. A direct call with logits
    computes the definition.

    Args:
        reduction: ``sum`` of the losses of all tokens of the batch, as in the authors' program;
            ``batch_mean``: divided by the number of sentences; ``token_mean``: divided by the
            number of tokens.
        label_smoothing: ε, share of probability spread evenly over the vocabulary, from 0 to 0.95.
        non_finite_gradient: ``decay_weights`` updates with 0.1 θ as the gradient of every weight θ
            where the gradient is NaN or infinite, as the authors' program does; ``error`` does
            nothing about it.

    Call arguments:
        target_ids: int32 [B, I], 0 is padding.
        logits: float [B, I, V].

    Returns:
        float scalar, in nats.

    Raises:
        UsageError: an argument is none of the choices or out of range, as of the training options.
    """

    def __init__(
        self,
        reduction: str = "sum",
        label_smoothing: float = 0.0,
        non_finite_gradient: str = "error",
        name: str = "translation_loss",
    ) -> None:
        super().__init__(name=name, reduction="sum")

        def checked(option: str, value: Any) -> Any:
            return check_value(f"training.{option}", value, f"TranslationLoss: {option}")

        self.reduction: str = checked("loss_reduction", reduction)
        self.label_smoothing: float = checked("label_smoothing", label_smoothing)
        self.non_finite_gradient: str = checked("non_finite_gradient", non_finite_gradient)

    def reduce(self, losses: tf.Tensor, sentences: tf.Tensor, tokens: tf.Tensor) -> tf.Tensor:
        """Reduce the losses [N] of the tokens of a batch with ``sentences`` sentences and
        ``tokens`` tokens to a scalar.

        For a replica's share of a batch, pass the losses of the share and the numbers of the whole
        batch; the sum over all replicas is then the loss of the whole batch.
        """
        total = tf.reduce_sum(losses)
        if self.reduction == "sum":
            return total
        count = sentences if self.reduction == "batch_mean" else tokens
        return total / tf.maximum(tf.cast(count, losses.dtype), 1)

    def __call__(
        self, target_ids: tf.Tensor, logits: tf.Tensor, sample_weight: tf.Tensor | None = None
    ) -> tf.Tensor:
        """The loss, a scalar, of target_ids int32 [B, I] and logits [B, I, V]. Sample weights [B]
        multiply the losses of sentences, but do not change the divisor.
        """
        real = tf.where(target_ids != PAD_ID)
        words = tf.gather_nd(logits, real), tf.gather_nd(target_ids, real)
        losses, _ = word_losses(*words, self.label_smoothing)
        if sample_weight is not None:
            losses = weighted(losses, target_ids, sample_weight)
        return self.reduce(losses, *batch_counts(target_ids))

    def get_config(self) -> dict[str, Any]:
        return {
            "reduction": self.reduction,
            "label_smoothing": self.label_smoothing,
            "non_finite_gradient": self.non_finite_gradient,
            "name": self.name,
        }


def word_losses(
    logits: tf.Tensor, target_ids: tf.Tensor, label_smoothing: float = 0.0
) -> tuple[tf.Tensor, tf.Tensor]:
    """Loss and negative log-likelihood of each target word, in nats; p = softmax of the logits.

        nll = −log p(y),   loss = (1 − ε) nll + ε · mean over the vocabulary of −log p(v)
        ∂loss / ∂logits = p − (1 − ε) 1[y] − ε / V

    The gradient is written here: with TensorFlow's own an update takes up to a tenth longer.

    Args:
        logits: float [N, V].
        target_ids: int32 [N].
        label_smoothing: ε.

    Returns:
        (losses [N], nll [N]); only the losses have a gradient.
    """
    smoothed = label_smoothing / logits.shape[-1]
    right = tf.stack([tf.range(tf.size(target_ids)), tf.cast(target_ids, tf.int32)], axis=1)

    @tf.custom_gradient
    def losses_of(logits: tf.Tensor) -> Any:
        p = tf.nn.softmax(logits)
        # the largest probability is far from zero
        log_sum = tf.reduce_max(logits, axis=-1) - tf.math.log(tf.reduce_max(p, axis=-1))
        nll = log_sum - tf.gather_nd(logits, right)
        losses = nll
        if label_smoothing:
            uniform = log_sum - tf.reduce_mean(logits, axis=-1)
            losses = (1 - label_smoothing) * nll + label_smoothing * uniform

        def gradient(of_losses: tf.Tensor, _: tf.Tensor) -> tf.Tensor:
            all_words = (p - smoothed if label_smoothing else p) * of_losses[:, tf.newaxis]
            return tf.tensor_scatter_nd_sub(all_words, right, (1 - label_smoothing) * of_losses)

        return (losses, nll), gradient

    return losses_of(logits)


def weighted(losses: tf.Tensor, target_ids: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Losses [N] of the words of target ids int32 [B, I], times the weights [B] of their
    sentences.
    """
    sentences = tf.where(target_ids != PAD_ID)[:, 0]  # of each word
    weights = tf.ensure_shape(tf.cast(weights, losses.dtype), [None])
    return losses * tf.gather(weights, sentences)


def batch_counts(target_ids: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """(sentences, tokens): numbers of sentences and tokens in target ids int32 [B, I], as int32
    scalars; a row with only padding is not a sentence.
    """
    real = target_ids != PAD_ID
    return (
        tf.math.count_nonzero(tf.reduce_any(real, axis=1), dtype=tf.int32),
        tf.math.count_nonzero(real, dtype=tf.int32),
    )
