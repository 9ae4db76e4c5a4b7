"""What a Keras user expects of every layer that is offered: one test for all of them."""

import numpy as np
import pytest
import tensorflow as tf
from rnnsearch_tf import layers
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.layers.gaussian_window import GaussianWindow
from rnnsearch_tf.layers.luong_attention import LuongAttention

B = 2
STEPS = 3
J = 5
M = 4
N = 6
V = 9
LENGTHS = (5, 3)

IDS = (J,)
WORDS = (J, M)
SOURCE = "source words"
STATES = (STEPS, N)
TARGET = (STEPS, M)
ANNOTATIONS = (J, 2 * N)
CONTEXTS = (STEPS, 2 * N)

CASES = {
    "WordEmbedding": (lambda: layers.WordEmbedding(V, M), [IDS]),
    "Encoder": (lambda: layers.Encoder(N), [WORDS]),
    "Encoder, one LSTM": (lambda: layers.Encoder(N, bidirectional=False, unit="lstm"), [WORDS]),
    "BahdanauAttention": (lambda: layers.BahdanauAttention(M), [STATES, ANNOTATIONS]),
    "GaussianWindow": (lambda: GaussianWindow(2), [(1, N), ANNOTATIONS]),
    "LuongAttention": (lambda: LuongAttention(N), [STATES, (J, N)]),
    "LuongAttention, both directions": (lambda: LuongAttention(N), [STATES, ANNOTATIONS]),
    "LuongAttention, concat": (lambda: LuongAttention(N, "concat", M), [STATES, (J, N)]),
    "Decoder": (lambda: layers.Decoder(N, M), [TARGET, ANNOTATIONS]),
    "Decoder, windows": (
        lambda: layers.Decoder(N, 2, attention="gaussian_window", unit="lstm"),
        [TARGET, ANNOTATIONS],
    ),
    "Decoder, fixed context": (lambda: layers.Decoder(N, attention=None), [TARGET, (J, N)]),
    "DeepOutput": (lambda: layers.DeepOutput(V, 3, output_rank=2), [STATES, TARGET, CONTEXTS]),
}
"""A layer, and the shapes of its arguments without the batch."""

ATTENTIONS = [name for name in CASES if "Attention" in name or name == "GaussianWindow"]
READERS = ["Encoder", "Encoder, one LSTM", *ATTENTIONS, "Decoder", "Decoder, windows"]
"""Layers whose last argument is of the source's length, and may have a mask."""

every_layer = pytest.mark.parametrize("name", CASES)
every_layer_of_vectors = pytest.mark.parametrize(
    "name", [name for name in CASES if name != "WordEmbedding"]
)


@pytest.fixture
def policy(request):
    """A global dtype policy, such as ``keras.config.set_dtype_policy`` sets."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(request.param)
    yield keras.config.dtype_policy()
    keras.config.set_dtype_policy(before)


each_policy = pytest.mark.parametrize(
    "policy", ("float32", "float64", "bfloat16", "mixed_bfloat16"), indirect=True
)


def arguments(name, seed=0):
    """NumPy arguments of a layer."""
    random = np.random.default_rng(seed)

    def draw(shape):
        if shape is IDS:
            return random.integers(0, V, (B, *shape))
        return random.normal(size=(B, *shape)).astype("float32")

    return [draw(shape) for shape in CASES[name][1]]


def inputs(name):
    """keras.Input of a layer; sentences may have any length."""
    free = [(None, *shape[1:]) for shape in CASES[name][1]]
    return [keras.Input(shape, dtype="int32" if shape == (None,) else "float32") for shape in free]


def seeded(name, seed=3):
    """A layer whose weights are drawn from a seed."""
    layer = CASES[name][0]()
    return type(layer).from_config(layer.get_config() | {"seed": seed})


def listed(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


def test_no_public_layer_is_missing():
    offered = {
        name for name in layers.__all__ if issubclass(getattr(layers, name), keras.layers.Layer)
    }
    assert {getattr(layers, name).__name__ for name in offered} <= {
        name.split(",")[0] for name in CASES
    }


@every_layer
def test_shapes_are_those_of_the_results(name):
    make, shapes = CASES[name]
    given = [(B, *shape) for shape in shapes]
    results = [tuple(result.shape) for result in listed(make()(*arguments(name)))]
    computed = make().compute_output_shape(*given)
    assert (list(computed) if isinstance(computed[0], tuple) else [computed]) == results
    for symbolic, shape in zip(listed(make()(*inputs(name))), results, strict=True):
        assert len(symbolic.shape) == len(shape) and all(
            size in (None, known) for size, known in zip(symbolic.shape, shape)
        )
        assert symbolic.shape[-1] in (None, shape[-1]) and symbolic.dtype == "float32"


@every_layer
def test_built_from_shapes_it_is_the_layer_built_by_a_call(name):
    make, shapes = CASES[name]
    built = seeded(name)
    called = seeded(name)
    built.build(*((None, *shape) for shape in shapes))
    expected = listed(called(*arguments(name)))
    for result, values in zip(listed(built(*arguments(name))), expected, strict=True):
        np.testing.assert_array_equal(result, values)
    assert (
        {w.path.split("/", 1)[1] for w in built.weights}
        == {w.path.split("/", 1)[1] for w in called.weights}
        != set()
    )


@every_layer
def test_saved_and_loaded_in_a_functional_model(name, tmp_path):
    given = inputs(name)
    model = keras.Model(given, CASES[name][0]()(*given))
    for weight in model.trainable_weights:  # v_a and biases too, which begin at zero
        weight.assign(np.random.default_rng(weight.shape[0]).normal(size=weight.shape))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    for result, values in zip(
        listed(loaded(arguments(name))), listed(model(arguments(name))), strict=True
    ):
        np.testing.assert_array_equal(result, values)


@pytest.mark.parametrize("name", READERS)
def test_a_mask_leaves_out_what_is_padding(name):
    """The shorter sentence gives what it gives by itself, its mask handed in or carried along by
    Keras.
    """
    layer, (*others, source) = CASES[name][0](), arguments(name)
    mask = np.arange(J) < np.array(LENGTHS)[:, np.newaxis]
    carried = keras.ops.convert_to_tensor(source)
    keras.src.backend.common.masking.set_keras_mask(carried, keras.ops.convert_to_tensor(mask))
    masked = listed(layer(*others, carried))
    alone = listed(layer(*(values[1:] for values in others), source[1:, : LENGTHS[1]]))
    for result, given in zip(masked, listed(layer(*others, source, mask)), strict=True):
        np.testing.assert_array_equal(result, given)
    for result, expected in zip(masked, alone, strict=True):
        row = tuple(slice(size) for size in expected.shape[1:])
        np.testing.assert_allclose(result[1:][(slice(None), *row)], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ATTENTIONS)
def test_query_and_value_may_be_a_list(name):
    """As Keras's own attention layers take them, called or in a functional model, with masks in a
    list too.
    """
    layer, (states, annotations) = CASES[name][0](), arguments(name)
    mask = np.arange(J) < np.array(LENGTHS)[:, np.newaxis]
    for result, expected in zip(
        layer([states, annotations], mask=[None, mask]),
        layer(states, annotations, mask),
        strict=True,
    ):
        np.testing.assert_array_equal(result, expected)
    given = inputs(name)
    fresh = CASES[name][0]()
    model = keras.Model(given, fresh(given))
    fresh.set_weights(layer.get_weights())
    for result, expected in zip(
        model([states, annotations]), layer(states, annotations), strict=True
    ):
        np.testing.assert_array_equal(result, expected)
    assert fresh.compute_output_shape(
        [states.shape, annotations.shape]
    ) == layer.compute_output_shape(states.shape, annotations.shape)


@each_policy
@every_layer_of_vectors
def test_other_floats_are_cast_to_the_dtype_of_the_weights(name, policy):
    """As Keras's own layers cast them; what is computed is what values of the right dtype give."""
    layer = CASES[name][0]()
    own = policy.variable_dtype
    for dtype in ("float64", "float32", "bfloat16"):
        values = [tf.cast(value, dtype) for value in arguments(name)]
        handed_in = [value.numpy() for value in values] if dtype == "float64" else values
        expected = listed(layer(*(tf.cast(value, own) for value in values)))
        for result, like in zip(listed(layer(*handed_in)), expected, strict=True):
            assert result.dtype == like.dtype == own
            np.testing.assert_array_equal(tf.cast(result, tf.float64), tf.cast(like, tf.float64))


@pytest.mark.parametrize(
    "dtype", ("int8", "uint8", "int16", "uint16", "int64", "uint32", "float32", "float64")
)
@pytest.mark.parametrize("policy", ("float32", "bfloat16"), indirect=True)
def test_ids_of_any_dtype(dtype, policy):
    """As ``keras.layers.Embedding`` takes them; 311 is no number of bfloat16."""
    ids = np.array([[0, 5, 101 if dtype in ("int8", "uint8") else 311]])
    layer = layers.WordEmbedding(400, M, biases="none")
    stock = keras.layers.Embedding(400, M)
    stock.build(())
    layer.build()
    stock.set_weights(layer.get_weights())
    expected = np.array(stock(ids.astype(dtype)), "float32")
    np.testing.assert_array_equal(
        np.array(layer(ids.astype(dtype)), "float32")[:, 1:], expected[:, 1:]
    )
    given = keras.Input((3,), dtype=dtype)
    np.testing.assert_array_equal(keras.Model(given, layer(given))(ids.astype(dtype)), layer(ids))


def refused(layer, *values, match="expected .*, got .*; "):
    with pytest.raises(UsageError, match=match):
        layer(*values)


@every_layer_of_vectors
def test_arguments_of_another_kind_or_width_are_refused(name):
    """Every argument by itself: whole numbers, and, of a built layer, another width."""
    layer = CASES[name][0]()
    values = arguments(name)
    layer(*values)
    for k, value in enumerate(values):
        for wrong in (value.astype("int64"), np.concatenate([value, value], axis=-1)):
            named = list(layer.shapes)[k]
            with pytest.raises(UsageError, match=f"{named}: expected float .*, got "):
                layer(*values[:k], wrong, *values[k + 1 :])


def test_loaded_layers_know_the_widths_they_were_built_for(tmp_path):
    given = inputs("Encoder")
    keras.Model(given, CASES["Encoder"][0]()(*given)).save(tmp_path / "model.keras")
    layer = keras.models.load_model(tmp_path / "model.keras").layers[-1]
    [words] = arguments("Encoder")
    with pytest.raises(UsageError, match="expected .*, got "):
        layer(words[..., 1:])


@every_layer
def test_without_a_seed_each_layer_starts_by_itself(name):
    """And again as it was after ``keras.utils.set_random_seed``, as Keras's own layers do; layers
    with one seed start equal.
    """

    def weights(make):
        layer = make()
        layer.build(*((None, *shape) for shape in CASES[name][1]))
        return np.concatenate([weight.ravel() for weight in layer.get_weights()])

    def drawn(seed):
        keras.utils.set_random_seed(seed)
        return [weights(CASES[name][0]) for _ in range(2)]

    (first, second), again, other = drawn(1), drawn(1), drawn(2)
    np.testing.assert_array_equal(again, [first, second])
    assert len({values.tobytes() for values in (first, second, *other)}) == 4
    np.testing.assert_array_equal(weights(lambda: seeded(name)), weights(lambda: seeded(name)))
    assert CASES[name][0]().get_config()["seed"] is None
