"""What a Keras user hands to a layer's constructor, and the layers in a functional model of his
own.
"""

import numpy as np
import pytest
from rnnsearch_tf import layers
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.layers.luong_attention import LuongAttention

M = 4
V = 9


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: layers.Encoder(4, unit="grru"), "Encoder: unit: expected one of .*mean gru?"),
        (lambda: layers.Encoder(0), "Encoder: hidden_size: expected at least 1, got 0"),
        (lambda: layers.Encoder(3.0), "Encoder: hidden_size: expected a whole number, got 3.0"),
        (lambda: layers.Encoder(4, bises="none"), "Encoder: .*got bises; did you mean biases?"),
        (lambda: layers.Encoder(4, kernel_initializer="zeros"), "the option initialization"),
        (lambda: layers.Encoder(4, forget_bias=1.0), "forget_bias: expected 0 .*unit=gru"),
        (lambda: layers.Decoder(4), "Decoder: alignment_size|BahdanauAttention: alignment_size"),
        (lambda: LuongAttention(4, "concat"), "LuongAttention: alignment_size: expected a whole"),
        (lambda: layers.Decoder(4, 5).build((None, None, 3), (None, None, 3)), "an even width"),
    ],
)
def test_options_are_checked(make, message):
    with pytest.raises(UsageError, match=message):
        make()


def test_numbers_of_numpy_are_taken_and_written_as_pythons():
    options = layers.Encoder(
        np.int64(4),
        bidirectional=np.bool_(False),
        unit="lstm",
        forget_bias=np.float32(0.5),
        seed=np.int32(1),
    ).get_config()
    names = ("hidden_size", "bidirectional", "forget_bias", "seed")
    assert [type(options[name]) for name in names] == [int, bool, float, int]


def test_a_tied_output_takes_a_matrix_and_another_takes_none():
    values = [np.ones((2, 5, M), "float32")] * 3
    for tied, matrix in ((True, None), (False, np.ones((V, 3), "float32"))):
        with pytest.raises(UsageError, match=f"output_matrix: expected .* with tied={tied}"):
            layers.DeepOutput(V, 3, tied=tied)(*values, matrix)


# Masks.

SOURCE = np.array([[3, 4, 5, 6, 7], [8, 2, 1, 0, 0]])
TARGET = np.array([[4, 5, 1, 0], [3, 1, 0, 0]])


def translation_model(mask_zero=True):
    """Every public layer in one functional model of source and target ids: (the model of logits, of
    annotations).
    """
    source = keras.Input((None,), dtype="int32")
    target = keras.Input((None,), dtype="int32")
    annotations = layers.Encoder(3, seed=1)(
        layers.WordEmbedding(V, M, seed=2, mask_zero=mask_zero)(source)
    )
    entering = layers.WordEmbedding(V, M, seed=3, mask_zero=mask_zero)(target)
    states, contexts, _ = layers.Decoder(3, 2, seed=4)(entering, annotations)
    logits = layers.DeepOutput(V, 3, seed=5)(states, entering, contexts)
    model = keras.Model([source, target], logits)
    for k, weight in enumerate(model.weights):
        weight.assign(np.random.default_rng(k).normal(size=weight.shape))
    return model, keras.Model(source, annotations)


def test_in_a_functional_model_padding_changes_nothing():
    model, annotations = translation_model()
    alone = annotations(SOURCE[1:, :3])
    np.testing.assert_allclose(annotations(SOURCE)[1:, :3], alone, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        model([SOURCE, TARGET])[1:, :2],
        model([SOURCE[1:, :3], TARGET[1:, :2]]),
        rtol=1e-4,
        atol=1e-5,
    )
    assert np.abs(translation_model(mask_zero=False)[1](SOURCE)[1:, :3] - alone).max() > 0.1


def test_a_stock_loss_does_not_count_padding():
    """The mean over the real target words, worked out from the logits in float64."""
    model, _ = translation_model()
    model.compile(loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    logits = np.array(model([SOURCE, TARGET]), "float64")
    likelihood = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    own = -np.take_along_axis(likelihood, TARGET[..., np.newaxis], axis=-1)[..., 0]
    expected = own[TARGET != 0].mean()
    assert abs(own.mean() - expected) > 0.01
    assert model.evaluate([SOURCE, TARGET], TARGET, verbose=0) == pytest.approx(expected, rel=1e-5)
