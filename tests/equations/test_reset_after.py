"""The unit that cuDNN has: against Keras's own, against cuDNN's equations, and in every system that
has units.

No GPU is needed but for the last test. Where cuDNN would be called, an emulation of it in NumPy
answers, written from the equations in NVIDIA's documentation (cudnnRNNMode_t, CUDNN_GRU), and what
it is handed is compared with what Keras hands over for its own layer.
"""

import numpy as np
import pytest
import tensorflow as tf
from gpu_kernels import XLA, without_kernel
from reference import systems
from tiny_rnnsearch import PAIRS, batch, randomize
from tiny_systems import tiny_system

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.config import Config, SearchConfig, TrainingConfig
from rnnsearch_tf.layers import Encoder, recurrent_unit
from rnnsearch_tf.layers.kernels import gru_reset_after
from rnnsearch_tf.layers.kernels.gru_reset_after import right_padded
from rnnsearch_tf.layers.recurrent_unit import RecurrentUnit
from rnnsearch_tf.search.graphs import search_graph
from rnnsearch_tf.training.optimizers import compile_model

B = 3
T = 5
M = 3
N = 4
NEAR = dict(rtol=0, atol=1e-10)
MASK = tf.sequence_mask([4, 1, T], T)
UNIT = dict(unit="gru_reset_after")


def normal(*shape, seed=0):
    return tf.constant(np.random.default_rng(seed).normal(size=shape))


def unit(biases="all", **options):
    layer = RecurrentUnit(N, "gru_reset_after", biases=biases, dtype="float64", **options)
    layer.build(M)
    return randomize(layer)


def keras_unit(weights, **options):
    """Keras's layer with the weights of ours, its blocks in its order: update, reset, candidate."""
    layer = keras.layers.GRU(N, reset_after=True, return_sequences=True, dtype="float64", **options)
    layer.build((None, None, M))

    def blocks(letter):
        return np.concatenate([weights[letter + gate] for gate in ("_z", "_r", "")], axis=-1)

    recurrent_bias = np.concatenate([np.zeros(2 * N), weights["b_U"]])
    layer.set_weights([blocks("W"), blocks("U"), np.stack([blocks("b"), recurrent_bias])])
    return layer


@pytest.mark.parametrize("backward", (False, True))
def test_it_is_keras_unit_with_the_same_weights(backward):
    """Keras leaves what it read backward in that order; before the first word that is read it has
    zeros where ours has the state. On a GPU its outputs at padding would be undefined by cuDNN.
    """
    ours = unit()
    values = normal(B, T, M)
    state = normal(B, N, seed=1)
    theirs = keras_unit(ours.paper_weights(), go_backwards=backward, use_cudnn=False)(
        values, initial_state=state, mask=MASK
    )
    found = ours.read(values, {"state": state}, MASK, backward)["state"]
    shown = tf.cast(MASK, tf.float64)[..., tf.newaxis] if backward else 1.0
    np.testing.assert_allclose(
        found * shown, tf.reverse(theirs, [1]) * shown if backward else theirs, **NEAR
    )


SYSTEMS = [
    ("rnnsearch", dict(attention="coverage")),
    ("rnnencdec", dict(layer_normalization=True)),
    ("rnnsearch-windows", dict(biases="none")),
    ("stacked-gru", {}),
    ("stacked-lstm", {}),
    ("luong-general", {}),
    ("luong-concat", {}),
]


@pytest.mark.parametrize("name, options", SYSTEMS, ids=[name for name, _ in SYSTEMS])
def test_every_system_that_has_units(name, options):
    """tests/tiny_systems.py has the plain one, for everything else."""
    model = tiny_system(name, **UNIT, **options)
    logits = model(batch(extra_source=1)).numpy()
    for row, (source, target) in enumerate(PAIRS):
        expected, _ = systems.decode(
            model.paper_weights(), source, target, dict(vars(model.config))
        )
        np.testing.assert_allclose(logits[row, : len(target)], expected, **NEAR)


# ---- as if there were a GPU ----


class CuDNN:
    """What cuDNN is called with, and NumPy in its place."""

    def __init__(self, monkeypatch):
        self.handed = []
        monkeypatch.setattr(recurrent_unit, "gpu_with_cudnn", lambda: True)
        monkeypatch.setattr(gru_reset_after, "cudnn_rnn", self.call)
        monkeypatch.setattr(tf.raw_ops, "CudnnRNNV3", self.call)  # Keras's

    def call(self, **arguments):
        arguments = {
            name: value.numpy() if tf.is_tensor(value) else value
            for name, value in arguments.items()
        }
        self.handed.append(arguments)
        outputs, last = self.equations(
            **{name: arguments[name] for name in ("input", "input_h", "params", "sequence_lengths")}
        )
        return tf.constant(outputs), tf.constant(last), None, None, None

    @staticmethod
    def equations(input, input_h, params, sequence_lengths):
        """i: update, r: reset, h': candidate; parameters in the order r, i, h' of W, of R, of b_W,
        of b_R; zeros behind a sentence.
        """

        def sigmoid(x):
            return 1 / (1 + np.exp(-x))

        (size, n), take = (input.shape[-1], input_h.shape[-1]), iter(params)

        def block(*shape):
            return np.array([next(take) for _ in range(np.prod(shape))]).reshape(shape)

        W = [block(n, size) for _ in range(3)]
        R = [block(n, n) for _ in range(3)]
        b_W = [block(n) for _ in range(3)]
        b_R = [block(n) for _ in range(3)]
        assert not list(take)
        outputs = np.zeros((*input.shape[:2], n))
        last = np.zeros((len(input), 1, n))
        for row, length in enumerate(sequence_lengths):
            h = input_h[row, 0]
            for t in range(length):
                of_x, of_h = (
                    [M[k] @ v + b[k] for k in range(3)]
                    for M, v, b in ((W, input[row, t], b_W), (R, h, b_R))
                )
                r = sigmoid(of_x[0] + of_h[0])
                i = sigmoid(of_x[1] + of_h[1])
                h = (1 - i) * np.tanh(of_x[2] + r * of_h[2]) + i * h
                outputs[row, t] = h
            last[row, 0] = h
        return outputs, last


@pytest.fixture
def cudnn(monkeypatch):
    return CuDNN(monkeypatch)


@pytest.mark.parametrize("backward", (False, True))
def test_cudnn_is_handed_what_keras_hands_over(cudnn, backward):
    from keras.src.backend.tensorflow.rnn import _cudnn_gru

    ours = unit()
    values = normal(B, T, M)
    state = normal(B, N, seed=1)
    theirs = keras_unit(ours.paper_weights())
    weights = [tf.constant(weight) for weight in theirs.get_weights()]
    ours.read(values, {"state": state}, MASK, backward, training=True)
    if not tf.sysconfig.get_build_info()["is_cuda_build"]:
        pytest.skip("Keras has another order of the gates where TensorFlow is built without CUDA")
    _cudnn_gru(values, state, *weights, MASK, False, backward, True)
    one, other = cudnn.handed
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


@pytest.mark.parametrize("biases", ("none", "groundhog", "all"))
@pytest.mark.parametrize("backward", (False, True))
@pytest.mark.parametrize("mask", (None, MASK), ids=("whole", "padded"))
def test_cudnn_gives_what_the_loop_gives(cudnn, biases, backward, mask):
    ours = unit(biases)
    values = normal(B, T, M)
    state = {"state": normal(B, N, seed=1)}
    by_cudnn = ours.read(values, state, mask, backward, training=True)["state"]
    assert len(cudnn.handed) == 1
    np.testing.assert_allclose(by_cudnn, ours.read(values, state, mask, backward)["state"], **NEAR)
    assert len(cudnn.handed) == 1, "where no gradient is asked for, the loop reads"


@pytest.mark.parametrize(
    "mask",
    ([[False, True]], [[True, False], [False, False]]),
    ids=("padding on the left", "an empty sentence"),
)
def test_what_cudnn_cannot_read_is_the_loops(cudnn, mask):
    ours = unit()
    arguments = (
        normal(len(mask), 2, M),
        {"state": normal(len(mask), N, seed=1)},
        tf.constant(mask),
    )
    assert not right_padded(tf.constant(mask))
    np.testing.assert_allclose(
        ours.read(*arguments, training=True)["state"], ours.read(*arguments)["state"], **NEAR
    )
    assert not cudnn.handed


@pytest.mark.parametrize(
    "name, options",
    [("rnnencdec", UNIT), pytest.param("stacked-plain", UNIT, marks=pytest.mark.slow)],
)
def test_the_graphs_on_a_machine_with_a_gpu(monkeypatch, name, options):
    """An update calls cuDNN, and has kernels for all of it; a search, and so what is exported, does
    not.
    """
    monkeypatch.setattr(recurrent_unit, "gpu_with_cudnn", lambda: True)
    model = tiny_system(name, "float32", **options)
    compile_model(model, Config())
    ids = tf.TensorSpec([None, None], tf.int32)
    update = tf.function(model.train_step, autograph=False).get_concrete_function(
        {"source_ids": ids, "target_ids": ids}
    )
    search = search_graph(model, SearchConfig(beam_size=2)).get_concrete_function()
    assert {"CudnnRNNV3", "CudnnRNNBackpropV3"} <= operations(update)
    assert {operation for operation, *_ in without_kernel(update)} <= {
        "Timestamp"
    } or not tf.test.is_built_with_cuda()
    assert "CudnnRNNV3" not in operations(search) and {"While", "StatelessWhile"} & operations(
        search
    )


def test_xla_compiles_the_loop(monkeypatch):
    """It has no call of cuDNN, neither in a compiled update nor in a user's model."""
    monkeypatch.setattr(recurrent_unit, "gpu_with_cudnn", lambda: True)
    model = tiny_system("rnnencdec", "float32", **UNIT)
    compile_model(model, Config(training=TrainingConfig(jit_compile=True)))
    ids = tf.TensorSpec([None, None], tf.int32)
    batches = {"source_ids": ids, "target_ids": ids}
    traced = model.compiled_update.get_concrete_function(batches)
    arguments = {"Placeholder", "FakeParam"}
    assert {operation for operation, *_ in without_kernel(traced, XLA)} <= arguments
    compile_model(model, Config())
    update = tf.function(model.train_step, autograph=False).get_concrete_function(batches)
    assert "CudnnRNNV3" in operations(update)
    encoder = Encoder(N, **UNIT)
    encoder.build((None, None, M))
    with pytest.warns(UserWarning, match="doesn't support `jit_compile=True`"):
        keras.Sequential([encoder]).compile(jit_compile=True)


def test_products_in_bfloat16_and_normalized_ones_are_the_loops(monkeypatch):
    monkeypatch.setattr(recurrent_unit, "gpu_with_cudnn", lambda: True)

    def fits(**options):
        return RecurrentUnit(N, **options)._fits_cudnn()

    assert fits(**UNIT) and fits(dtype="float64", **UNIT)
    assert not (
        fits()
        or fits(unit="lstm")
        or fits(layer_normalization=True, **UNIT)
        or fits(dtype="mixed_bfloat16", **UNIT)
    )


def operations(traced):
    graph = traced.graph.as_graph_def()
    return {
        node.op
        for nodes in (graph.node, *(function.node_def for function in graph.library.function))
        for node in nodes
    }


# ---- with one ----


@pytest.mark.skipif(not tf.config.list_physical_devices("GPU"), reason="no GPU")
@pytest.mark.parametrize("backward", (False, True))
def test_a_gpu_computes_what_the_loop_computes(backward):
    """Values and gradients of every weight, in float64."""
    ours = unit()
    values = normal(B, T, M)
    state = {"state": normal(B, N, seed=1)}
    found = []
    for training in (False, True):
        with tf.GradientTape() as tape:
            states = ours.read(values, state, MASK, backward, training)["state"]
            loss = tf.reduce_sum(states * normal(*states.shape, seed=2))
        found.append(
            [states, *tape.gradient(loss, [weight.value for weight in ours.trainable_variables])]
        )
    for one, other in zip(*found):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)
