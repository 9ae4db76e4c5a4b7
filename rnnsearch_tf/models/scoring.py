"""Score given outputs: the log-probability and the alignment of every token.

    log p(y | x) = Σ_i log p(y_i | y_<i, x)      Bahdanau et al. 2015, eq. 2

The path is that of training, all target positions at once.
"""

from __future__ import annotations

import math
import typing
from collections.abc import Sequence

import tensorflow as tf

from rnnsearch_tf.config import PAD_ID

if typing.TYPE_CHECKING:
    from rnnsearch_tf.models.translation_model import TranslationModel


class TargetScores(typing.NamedTuple):
    """Scores of given outputs."""

    log_probabilities: tf.Tensor  # float32 [B, I], natural log of each target token; 0 at padding
    alignments: tf.Tensor  # float32 [B, I, J]; 0 at padding, and without attention


def score_targets(
    models: Sequence[TranslationModel], source_ids: tf.Tensor, target_ids: tf.Tensor
) -> TargetScores:
    """Score given outputs by the mean of the models' probabilities. Unknown words and outputs of
    any length are scored, even if search would not allow them.

    Args:
        models: one, or the members of an ensemble.
        source_ids: int32 [B, J].
        target_ids: int32 [B, I], I ≥ 1, padded with 0.

    Returns:
        TargetScores; the alignment is the mean over the models that have attention.
    """
    features, alignments = zip(
        *(model.attended_features(source_ids, target_ids) for model in models)
    )

    def score_position(inputs: tuple[tf.Tensor, ...]) -> tf.Tensor:
        """Log-probabilities [B] at one target position: the logits of all would be large."""
        ids, *at_position = inputs
        log_probabilities = mean_log_probabilities(
            [model.logits(values) for model, values in zip(models, at_position)]
        )
        chosen = tf.gather(log_probabilities, ids, batch_dims=1)
        return tf.minimum(chosen, 0.0)

    by_position = [tf.transpose(values, [1, 0, 2]) for values in features]
    log_probabilities = tf.map_fn(
        score_position,
        (tf.transpose(target_ids), *by_position),
        fn_output_signature=tf.TensorSpec([None], tf.float32),
    )
    real = target_ids != PAD_ID  # [B, I]
    alignment = mean_alignment(models, alignments)
    return TargetScores(
        tf.where(real, tf.transpose(log_probabilities), 0.0),
        tf.where(real[..., tf.newaxis], alignment, 0.0),
    )


def mean_log_probabilities(logits: Sequence[tf.Tensor]) -> tf.Tensor:
    """Logarithm of the mean of the models' probabilities: logits [..., V] of each → float32
    [..., V].
    """
    each = [tf.nn.log_softmax(tf.cast(values, tf.float32)) for values in logits]
    mean = tf.reduce_logsumexp(tf.stack(each), axis=0) - math.log(len(each))
    return mean if len(each) > 1 else each[0]


def mean_alignment(
    models: Sequence[TranslationModel], alignments: Sequence[tf.Tensor]
) -> tf.Tensor:
    """Mean over the models that have attention, float32; zeros if none has."""
    attending = [x for model, x in zip(models, alignments) if model.has_attention]
    attending = attending or list(alignments[:1])
    return tf.add_n([tf.cast(x, tf.float32) for x in attending]) / len(attending)
