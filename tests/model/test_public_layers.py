"""What a Keras user expects of every layer that is offered: one test for all of them."""

import numpy as np
import pytest
from rnnsearch_tf import layers
from rnnsearch_tf.backend import keras
from rnnsearch_tf.layers.coverage import CoverageAttention
from rnnsearch_tf.layers.gaussian_window import GaussianWindow
from rnnsearch_tf.layers.luong_attention import LuongAttention

B, I, J, M, N, V = 2, 3, 5, 4, 6, 9
LENGTHS = (5, 3)

IDS, WORDS, SOURCE = (J,), (J, M), "source words"
STATES, TARGET, ANNOTATIONS, CONTEXTS = (I, N), (I, M), (J, 2 * N), (I, 2 * N)

CASES = {
    "WordEmbedding": (lambda: layers.WordEmbedding(V, M), [IDS]),
    "Encoder": (lambda: layers.Encoder(N), [WORDS]),
    "Encoder, one LSTM": (lambda: layers.Encoder(N, bidirectional=False, unit="lstm"), [WORDS]),
    "BahdanauAttention": (lambda: layers.BahdanauAttention(M), [STATES, ANNOTATIONS]),
    "CoverageAttention": (lambda: CoverageAttention(M), [(1, N), ANNOTATIONS]),
    "GaussianWindow": (lambda: GaussianWindow(2), [(1, N), ANNOTATIONS]),
    "LuongAttention": (lambda: LuongAttention(N), [STATES, (J, N)]),
    "LuongAttention, concat": (lambda: LuongAttention(N, "concat", M, biases="all"), [STATES, (J, N)]),
    "Decoder": (lambda: layers.Decoder(N, M), [TARGET, ANNOTATIONS]),
    "Decoder, windows": (lambda: layers.Decoder(N, 2, attention="gaussian_window", unit="lstm"), [TARGET, ANNOTATIONS]),
    "Decoder, fixed context": (lambda: layers.Decoder(N, attention=None), [TARGET, (J, N)]),
    "DeepOutput": (lambda: layers.DeepOutput(V, 3, output_rank=2), [STATES, TARGET, CONTEXTS]),
}
"""A layer, and the shapes of its arguments without the batch."""

ATTENTIONS = [name for name in CASES if "Attention" in name or name == "GaussianWindow"]
READERS = ["Encoder", "Encoder, one LSTM", *ATTENTIONS, "Decoder", "Decoder, windows"]
"""Layers whose last argument is of the source's length, and may have a mask."""

every_layer = pytest.mark.parametrize("name", CASES)


def arguments(name, seed=0):
    """NumPy arguments of a layer."""
    random = np.random.default_rng(seed)
    draw = lambda shape: random.integers(0, V, (B, *shape)) if shape is IDS else random.normal(size=(B, *shape)).astype("float32")  # noqa: E731
    return [draw(shape) for shape in CASES[name][1]]


def inputs(name):
    """keras.Input of a layer; sentences may have any length."""
    free = [(None, *shape[1:]) for shape in CASES[name][1]]
    return [keras.Input(shape, dtype="int32" if shape == (None,) else "float32") for shape in free]


def listed(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


def test_no_public_layer_is_missing():
    offered = {name for name in layers.__all__ if issubclass(getattr(layers, name), keras.layers.Layer)}
    assert {getattr(layers, name).__name__ for name in offered} <= {name.split(",")[0] for name in CASES}


@every_layer
def test_shapes_are_those_of_the_results(name):
    make, shapes = CASES[name]
    given = [(B, *shape) for shape in shapes]
    results = [tuple(result.shape) for result in listed(make()(*arguments(name)))]
    computed = make().compute_output_shape(*given)
    assert (list(computed) if isinstance(computed[0], tuple) else [computed]) == results
    for symbolic, shape in zip(listed(make()(*inputs(name))), results, strict=True):
        assert len(symbolic.shape) == len(shape) and all(size in (None, known) for size, known in zip(symbolic.shape, shape))
        assert symbolic.shape[-1] in (None, shape[-1]) and symbolic.dtype == "float32"


@every_layer
def test_built_from_shapes_it_is_the_layer_built_by_a_call(name):
    make, shapes = CASES[name]
    built, called = make(), make()
    built.build(*((None, *shape) for shape in shapes))
    expected = listed(called(*arguments(name)))
    for result, values in zip(listed(built(*arguments(name))), expected, strict=True):
        np.testing.assert_array_equal(result, values)
    assert {w.path.split("/", 1)[1] for w in built.weights} == {w.path.split("/", 1)[1] for w in called.weights} != set()


@every_layer
def test_its_configuration_makes_it_again(name):
    layer = CASES[name][0]()
    again = type(layer).from_config(layer.get_config())
    assert again.get_config() == layer.get_config()
    for result, values in zip(listed(again(*arguments(name))), listed(layer(*arguments(name))), strict=True):
        np.testing.assert_array_equal(result, values)


@every_layer
def test_saved_and_loaded_in_a_functional_model(name, tmp_path):
    given = inputs(name)
    model = keras.Model(given, CASES[name][0]()(*given))
    for weight in model.trainable_weights:  # not those that the seed draws again
        weight.assign(np.random.default_rng(weight.shape[0]).normal(size=weight.shape))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    for result, values in zip(listed(loaded(arguments(name))), listed(model(arguments(name))), strict=True):
        np.testing.assert_array_equal(result, values)


@pytest.mark.parametrize("name", READERS)
def test_a_mask_leaves_out_what_is_padding(name):
    """The shorter sentence gives what it gives by itself, its mask handed in or carried along by Keras."""
    layer, (*others, source) = CASES[name][0](), arguments(name)
    mask = np.arange(J) < np.array(LENGTHS)[:, np.newaxis]
    carried = keras.ops.convert_to_tensor(source)
    keras.src.backend.common.masking.set_keras_mask(carried, keras.ops.convert_to_tensor(mask))
    masked, alone = listed(layer(*others, carried)), listed(layer(*(values[1:] for values in others), source[1:, : LENGTHS[1]]))
    for result, given in zip(masked, listed(layer(*others, source, mask)), strict=True):
        np.testing.assert_array_equal(result, given)
    for result, expected in zip(masked, alone, strict=True):
        row = tuple(slice(size) for size in expected.shape[1:])
        np.testing.assert_allclose(result[1:][(slice(None), *row)], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ATTENTIONS)
def test_query_and_value_may_be_a_list(name):
    """As Keras's own attention layers take them, called or in a functional model, with masks in a list too."""
    layer, (states, annotations) = CASES[name][0](), arguments(name)
    mask = np.arange(J) < np.array(LENGTHS)[:, np.newaxis]
    for result, expected in zip(layer([states, annotations], mask=[None, mask]), layer(states, annotations, mask), strict=True):
        np.testing.assert_array_equal(result, expected)
    given, fresh = inputs(name), CASES[name][0]()
    model = keras.Model(given, fresh(given))
    for result, expected in zip(model([states, annotations]), layer(states, annotations), strict=True):
        np.testing.assert_array_equal(result, expected)
    assert fresh.compute_output_shape([states.shape, annotations.shape]) == layer.compute_output_shape(states.shape, annotations.shape)
