"""What a Keras user hands to a constructor, or wraps a layer in: it works as in Keras, or a
sentence says what does.
"""

import numpy as np
import pytest
import tensorflow as tf
from rnnsearch_tf import layers
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.layers.coverage import CoverageAttention
from rnnsearch_tf.layers.gaussian_window import GaussianWindow
from rnnsearch_tf.layers.luong_attention import LuongAttention
from rnnsearch_tf.layers.recurrent_stack import RecurrentStack
from rnnsearch_tf.layers.recurrent_unit import RecurrentUnit

Encoder = layers.Encoder
Decoder = layers.Decoder
DeepOutput = layers.DeepOutput
WordEmbedding = layers.WordEmbedding
EVERY = [
    lambda **options: WordEmbedding(9, 4, **options),
    lambda **options: Encoder(4, **options),
    lambda **options: Decoder(4, 3, **options),
    lambda **options: DeepOutput(9, 3, **options),
    lambda **options: layers.BahdanauAttention(3, **options),
    lambda **options: CoverageAttention(3, **options),
    lambda **options: GaussianWindow(2, **options),
    lambda **options: LuongAttention(4, **options),
]
B = 2
J = 5
M = 4
V = 9


def words(seed=0):
    return np.random.default_rng(seed).normal(size=(B, J, M)).astype("float32")


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(biases="yes"), "biases: expected one of groundhog, none, all, got 'yes'"),
        (dict(biases=True), "biases: expected one of groundhog, none, all, got True"),
        (dict(biases=False), "biases: expected one of groundhog, none, all, got False"),
        (
            dict(initialization="papers"),
            "initialization: expected one of paper, .*, got 'papers'; did you mean paper?",
        ),
        (
            dict(initialization="glorot_uniform"),
            "initialization: expected one of paper, .*, got 'glorot_uniform'",
        ),
        (
            dict(initialization=keras.initializers.Constant(7.0)),
            "initialization: expected one of paper, .*, got <.*Constant",
        ),
        (dict(seed="1"), "seed: expected a whole number, got '1'"),
        (dict(seed=-1), "seed: expected at least 0, got -1"),
        (
            dict(kernel_initializer="zeros"),
            "got kernel_initializer; the option initialization chooses",
        ),
        (
            dict(kernel_regularizer="l2"),
            "got kernel_regularizer; set the attribute regularizer of a weight",
        ),
        (
            dict(recurrent_constraint="max_norm"),
            "got recurrent_constraint; set the attribute constraint of a weight",
        ),
        (
            dict(return_state=True),
            "got return_state; the layer returns the states of all positions",
        ),
        (
            dict(return_sequences=True),
            "got return_sequences; the layer returns the states of all positions",
        ),
        (dict(bises="all"), "got bises; did you mean biases?"),
        (dict(colour="red"), "got colour; its options are "),
    ],
)
def test_options_that_every_layer_has(options, message):
    for make in EVERY:
        with pytest.raises(UsageError, match=rf"^\w+: .*{message}"):
            make(**options)


@pytest.mark.parametrize(
    "make, message",
    [
        (
            lambda: Encoder(4, unit="grru"),
            "unit: expected one of gru, gru_reset_after, lstm, got 'grru'; did you mean gru?",
        ),
        (
            lambda: Encoder(4, unit="cho"),
            "unit: expected one of gru, gru_reset_after, lstm, got 'cho'",
        ),
        (
            lambda: RecurrentUnit(4, unit="grru"),
            "unit: expected one of gru, gru_reset_after, cho, lstm",
        ),
        (
            lambda: Decoder(4, 3, attention="bahdanau"),
            "attention: expected one of content, coverage, gaussian_window, got 'bahdanau'",
        ),
        (lambda: Decoder(4), "alignment_size: expected a whole number, got None"),
        (
            lambda: LuongAttention(4, "concatenate", 3),
            "score: expected one of dot, general, concat, got 'concatenate'; did you mean concat?",
        ),
        (
            lambda: LuongAttention(4, "concat"),
            "alignment_size: expected a whole number with score=concat, got None",
        ),
        (lambda: Encoder(0), "hidden_size: expected at least 1, got 0"),
        (lambda: Encoder(-3), "hidden_size: expected at least 1, got -3"),
        (lambda: Encoder(3.0), "hidden_size: expected a whole number, got 3.0"),
        (lambda: Encoder("3"), "hidden_size: expected a whole number, got '3'"),
        (lambda: Encoder(True), "hidden_size: expected a whole number, got True"),
        (lambda: Encoder(None), "hidden_size: expected a whole number, got None"),
        (
            lambda: Encoder(4, bidirectional="yes"),
            "bidirectional: expected true or false, got 'yes'",
        ),
        (
            lambda: Encoder(4, layer_normalization=1),
            "layer_normalization: expected true or false, got 1",
        ),
        (lambda: Encoder(4, forget_bias=-1.0), "forget_bias: expected at least 0.0, got -1.0"),
        (
            lambda: Encoder(4, forget_bias=1.0),
            "forget_bias: expected biases on the gates .* biases=groundhog; set biases=all",
        ),
        (
            lambda: Decoder(4, 3, unit="lstm", biases="none", forget_bias=1.0),
            "forget_bias: .* got unit=lstm, biases=none; set biases=all",
        ),
        (lambda: Decoder(4, 0), "alignment_size: expected at least 1, got 0"),
        (lambda: GaussianWindow(-2), "windows: expected at least 1, got -2"),
        (lambda: WordEmbedding(0, 4), "vocabulary_size: expected at least 1, got 0"),
        (lambda: WordEmbedding(9, -4), "embedding_size: expected at least 1, got -4"),
        (lambda: WordEmbedding(9, 4, mask_zero=1), "mask_zero: expected true or false, got 1"),
        (lambda: DeepOutput(9, 0), "maxout_size: expected at least 1, got 0"),
        (lambda: DeepOutput(9, 3, output_rank=0), "output_rank: expected at least 1, got 0"),
        (lambda: DeepOutput(9, 3, dropout=1.0), "dropout: expected at most 0.95, got 1.0"),
        (lambda: DeepOutput(9, 3, context_sizes=5), "context_sizes: expected a list"),
        (lambda: RecurrentStack(0, 4), "layers: expected at least 1, got 0"),
    ],
)
def test_options_of_one_layer(make, message):
    with pytest.raises(UsageError, match=message):
        make()


def test_numbers_of_numpy_are_taken_and_written_as_pythons():
    layer = Encoder(
        np.int64(4),
        bidirectional=np.bool_(False),
        forget_bias=np.float32(0.5),
        biases="all",
        seed=np.int32(1),
    )
    options = layer.get_config()
    assert [
        type(options[name]) for name in ("hidden_size", "bidirectional", "forget_bias", "seed")
    ] == [int, bool, float, int]


@pytest.mark.parametrize(
    "wrap, message",
    [
        (
            lambda: keras.layers.Bidirectional(Encoder(4)),
            "Encoder: .* got go_backwards; an Encoder reads both ways with bidirectional=True",
        ),
        (
            lambda: keras.layers.RNN(RecurrentUnit(4)),
            r"RecurrentUnit: .* got keras.layers.RNN .*; use Encoder\(4, bidirectional=False",
        ),
        (
            lambda: WordEmbedding(9, 4).enable_lora(4),
            "WordEmbedding: .* got enable_lora .*; train it as it is",
        ),
    ],
)
def test_what_keras_has_and_these_layers_have_not(wrap, message):
    with pytest.raises(UsageError, match=message):
        wrap()


def test_quantize_says_what_stores_weights_in_eight_bits():
    encoder = Encoder(4)
    given = keras.Input((None, M))
    model = keras.Model(given, keras.layers.Dense(3)(encoder(given)))
    with pytest.raises(
        NotImplementedError,
        match=(
            "Encoder: expected a layer of Keras's own, got quantize.*; rnnsearch export --set"
            " weights=int8"
        ),
    ):
        encoder.quantize("int8")
    with pytest.warns(UserWarning, match="got quantize"):
        model.quantize("int8")  # stock layers beside ours
    assert "int8" in model.layers[-1].dtype_policy.name and encoder.dtype_policy.name == "float32"


def test_a_tied_output_takes_a_matrix_and_another_takes_none():
    values = [words(), words(), words()]
    matrix = np.ones((V, 3), "float32")
    with pytest.raises(
        UsageError, match="output_matrix: expected a matrix with tied=True, got None"
    ):
        DeepOutput(V, 3, tied=True)(*values)
    with pytest.raises(
        UsageError, match="output_matrix: expected None with tied=False, got a matrix"
    ):
        DeepOutput(V, 3)(*values, matrix)


def test_losses_inside_a_layer_reach_the_model_around_it():
    """A regularizer of a weight, one of the result, and add_loss in a subclass: what ``fit``
    minimizes has all three.
    """

    class Penalized(Encoder):
        def call(self, embeddings, mask=None, training=False):
            annotations = super().call(embeddings, mask, training)
            self.add_loss(0.5 * tf.reduce_sum(annotations))
            return annotations

    given = keras.Input((None, M))
    layer = Penalized(3, activity_regularizer=keras.regularizers.L1(0.25), seed=1)
    model = keras.Model(given, layer(given))
    layer.units[0].W.regularizer = keras.regularizers.L2(2.0)
    model.compile(optimizer="sgd", loss="mse")
    annotations = np.array(layer(words()), "float64")
    expected = (
        np.mean(annotations**2)
        + 0.5 * annotations.sum()
        + 2.0 * np.sum(np.array(layer.units[0].W, "float64") ** 2)
    )
    expected += 0.25 * np.abs(annotations).sum() / B  # Keras divides by the sentences
    assert model.evaluate(words(), np.zeros_like(annotations), verbose=0) == pytest.approx(
        expected, rel=1e-5
    )
    assert layer.get_config()["activity_regularizer"] is not None


# Masks.

SOURCE = np.array([[3, 4, 5, 6, 7], [8, 2, 1, 0, 0]])
TARGET = np.array([[4, 5, 1, 0], [3, 1, 0, 0]])


def translation_model(mask_zero=True):
    """Every public layer in one functional model of source and target ids: (the model of logits, of
    annotations).
    """
    source = keras.Input((None,), dtype="int32")
    target = keras.Input((None,), dtype="int32")
    annotations = Encoder(3, seed=1)(WordEmbedding(V, M, seed=2, mask_zero=mask_zero)(source))
    entering = WordEmbedding(V, M, seed=3, mask_zero=mask_zero)(target)
    states, contexts, _ = Decoder(3, 2, seed=4)(entering, annotations)
    model = keras.Model([source, target], DeepOutput(V, 3, seed=5)(states, entering, contexts))
    for k, weight in enumerate(model.weights):
        weight.assign(np.random.default_rng(k).normal(size=weight.shape))
    return model, keras.Model(source, annotations)


def test_an_embedding_gives_the_mask_of_keras_embeddings():
    stock = keras.layers.Embedding(V, M, mask_zero=True)
    ours = WordEmbedding(V, M, mask_zero=True)
    for dtype in ("int32", "int64", "uint8", "float32"):
        mask = keras.src.backend.common.masking.get_keras_mask(ours(SOURCE.astype(dtype)))
        np.testing.assert_array_equal(mask, stock.compute_mask(SOURCE.astype(dtype)))
    assert WordEmbedding(V, M).compute_mask(SOURCE) is None


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


def test_a_decoder_gives_on_the_mask_of_its_words():
    decoder = Decoder(3, 2)
    mask = TARGET != 0
    states, contexts, alignments = decoder.compute_mask(None, mask)
    assert states is mask and contexts is mask and alignments is None
    assert DeepOutput(V, 3).supports_masking


@pytest.mark.parametrize("attention", ["coverage", "gaussian_window"])
def test_only_content_attention_is_normalized(attention):
    with pytest.raises(UsageError, match=f"expected recurrent with attention={attention}, got all"):
        Decoder(4, 3, attention=attention, layer_normalization=True, normalized="all")


@pytest.mark.parametrize(
    "layer", [layers.BahdanauAttention, lambda size, **rest: DeepOutput(V, size, **rest)]
)
def test_attention_and_output_are_not_normalized_like_a_recurrent_unit(layer):
    with pytest.raises(UsageError, match="normalized: expected all or together, got recurrent"):
        layer(3, layer_normalization=True, normalized="recurrent")
    layer(3, normalized="recurrent")  # as RNNSearch does if only its units are normalized


def test_attention_with_coverage_is_not_normalized():
    with pytest.raises(UsageError, match="CoverageAttention: layer_normalization: expected False,"):
        CoverageAttention(3, layer_normalization=True)
