"""Gradients of the whole model: central differences at every weight."""

import pytest
import tensorflow as tf
from gradients.differences import check_gradients
from tiny_rnnsearch import PAIRS, batch, tiny_model

FEWER = dict(hidden_size=2, alignment_size=4, maxout_size=2)
VARIANTS = [
    dict(decoder_order="look_generate_update", output_rank=2),
    dict(decoder_order="paper", output_rank=None, biases="none"),
    dict(decoder_order="look_update_generate", output_rank=3, tie_target_embeddings=True),
]


@pytest.mark.parametrize("options", VARIANTS, ids=lambda options: options["decoder_order"])
def test_every_weight_by_central_differences(options):
    model = tiny_model(**FEWER, **options)
    inputs = batch(PAIRS[:3])

    @tf.function(autograph=False)
    def loss():
        return tf.reduce_sum(model.token_losses(inputs, label_smoothing=0.1, training=True)[0])

    check_gradients(loss, [variable.value for variable in model.trainable_variables])
