"""Cross-entropy over the whole vocabulary, fused with its gradient.

The logits of one batch are the largest thing in training (240 MB for 2,000 positions and
30,000 words), so they are passed over as few times as can be. The softmax p is one operation,
and the loss is read off it; p − 1[y] is one copy of it; label smoothing is two rank-one
corrections. (TensorFlow's own operation for loss and gradient takes several times as long.)
"""

import tensorflow as tf

from rnnsearch_tf.layers.product import product, weight_gradient

SMALLEST = 1e-30
"""Probabilities above it have all their digits in float32."""


def softmax_loss(features, matrix, bias, target_ids, label_smoothing=0.0, transpose=False, dtype=None):
    """Loss and negative log-likelihood of each target word.

        nll = −log p(y),   loss = (1 − ε) nll + ε · mean over the vocabulary of −log p(v)

    Args:
        features: float [N, l].
        matrix: float [l, V], or [V, l] with ``transpose``.
        bias: float [V] or None.
        target_ids: int32 [N].
        label_smoothing: ε.
        transpose: the matrix is given transposed (a tied embedding).
        dtype: operand dtype of the products, see ``product.py``.

    Returns:
        (losses [N], nll [N]); no gradient flows through nll.
    """
    vocabulary_size = matrix.shape[0 if transpose else 1]

    @tf.custom_gradient
    def fused(features, matrix, *bias):
        logits = product(features, matrix, dtype, transpose_right=transpose, bias=bias[0] if bias else None)
        probabilities = tf.nn.softmax(logits)
        own, own_probability = (tf.gather(values, target_ids, batch_dims=1) for values in (logits, probabilities))
        nll = tf.cond(  # a probability that is too small for float32 is rare, and costs two more passes
            tf.reduce_all(own_probability > SMALLEST),
            lambda: -tf.math.log(own_probability),
            lambda: log_sum_exp(logits, probabilities) - own,
        )
        losses = nll
        if label_smoothing:
            losses += label_smoothing * (own - tf.reduce_mean(logits, axis=-1))

        def gradient(losses_gradient, _):
            places = tf.stack([tf.range(tf.size(target_ids)), target_ids], axis=1)
            error = tf.tensor_scatter_nd_sub(probabilities, places, tf.ones_like(own))  # p − 1[y]
            scale = losses_gradient[:, tf.newaxis]
            scaled = features * scale
            features_gradient = product(error, matrix, dtype, transpose_right=not transpose)
            left, right = (error, scaled) if transpose else (scaled, error)
            matrix_gradient = weight_gradient(left, right, dtype)
            bias_gradient = tf.linalg.matvec(error, losses_gradient, transpose_a=True)
            if label_smoothing:  # the loss also has ε (1[y] − 1/V) · logits
                spread, put = _smoothing_terms(features, matrix, target_ids, scaled, transpose)
                features_gradient += label_smoothing * spread
                matrix_gradient += label_smoothing * put
                hits = tf.math.unsorted_segment_sum(losses_gradient, target_ids, vocabulary_size)
                bias_gradient += label_smoothing * (hits - tf.reduce_sum(losses_gradient) / vocabulary_size)
            return features_gradient * scale, matrix_gradient, *([bias_gradient] if bias else [])

        return (losses, nll), gradient

    return fused(features, matrix, *([] if bias is None else [bias]))


def log_sum_exp(logits, probabilities):
    """log Σ exp over the last axis, given the softmax: its largest value is exp(max logit) / Σ exp, and far from zero."""
    return tf.reduce_max(logits, axis=-1) - tf.math.log(tf.reduce_max(probabilities, axis=-1))


def _smoothing_terms(features, matrix, target_ids, scaled, transpose):
    """Gradients of Σ_n (own logit − mean logit): of the features before scaling, and of the matrix."""
    vocabulary_size = matrix.shape[0 if transpose else 1]
    by_word = matrix if transpose else tf.transpose(matrix)  # [V, l]
    features_term = tf.gather(by_word, target_ids) - tf.reduce_mean(by_word, axis=0)
    matrix_term = tf.math.unsorted_segment_sum(scaled, target_ids, vocabulary_size)
    matrix_term -= tf.reduce_sum(scaled, axis=0) / vocabulary_size  # [V, l]
    return features_term, matrix_term if transpose else tf.transpose(matrix_term)
