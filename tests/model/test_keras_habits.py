"""What a Keras user tries first: load_model, summary, export, a layer called on keras.Input,
mask_zero.
"""

import subprocess
import sys

import numpy as np
import pytest
import rnnsearch_tf
import tensorflow as tf
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.layers import BahdanauAttention, BiGRUEncoder, Decoder, DeepOutput, Encoder
from rnnsearch_tf.models import TranslationLoss
from rnnsearch_tf.training.optimizers import build_optimizer
from tiny_rnnsearch import batch, tiny_model
from tiny_run import write_run
from tiny_systems import ONE_OF_EACH, tiny_system

# m, n, n'
M = 3
N = 4
A = 5


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A compiled model's file, with an optimizer of this package."""
    path = tmp_path_factory.mktemp("saved") / "model.keras"
    model = tiny_model("float32")
    model.compile(build_optimizer(TrainingConfig()), loss=TranslationLoss())
    model.train_on_batch(batch())
    model.save(path)
    return path


@pytest.mark.parametrize(
    "imports",
    (
        "import keras, rnnsearch_tf",
        *(
            pytest.param(words, marks=pytest.mark.slow)
            for words in (
                "import rnnsearch_tf, keras; rnnsearch_tf.load_config",
                "from rnnsearch_tf import RNNSearch; import keras",
            )
        ),
    ),
)
def test_load_model_needs_no_other_import(saved, imports):
    code = (
        f"{imports}\nmodel = keras.models.load_model({str(saved)!r})\nprint(type(model).__name__,"
        " type(model.optimizer).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["RNNSearch", "Adadelta"], done.stderr


@pytest.mark.slow
def test_the_packages_own_load_model_needs_nothing_before_it(saved):
    code = (
        "import rnnsearch_tf\nmodel ="
        f" rnnsearch_tf.load_model({str(saved)!r})\nprint(type(model).__name__,"
        " type(model.optimizer).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["RNNSearch", "Adadelta"], done.stderr


@pytest.mark.parametrize("content", [None, b"no archive", "cut"])
def test_what_is_no_saved_model_is_an_error_in_words(saved, tmp_path, content):
    path = tmp_path / "model.keras"
    if content is not None:
        path.write_bytes(saved.read_bytes()[:2000] if content == "cut" else content)
    with pytest.raises(UserError, match="model.keras: expected a model that model.save wrote"):
        rnnsearch_tf.load_model(path)


@pytest.mark.parametrize("system", ONE_OF_EACH)
def test_summary_shows_a_shape_for_every_layer(system):
    lines = []
    model = tiny_system(system, "float32")
    model.summary(print_fn=lines.append)
    assert "None" in "\n".join(lines) and "?" not in "\n".join(lines), lines


def test_exported_by_keras_a_model_gives_the_same_logits(tmp_path):
    model = tiny_model("float32")
    model.export(tmp_path / "exported", verbose=False)
    served = tf.saved_model.load(str(tmp_path / "exported")).signatures["serving_default"]
    inputs = batch()
    [logits] = served(**{name: tf.constant(ids, tf.int32) for name, ids in inputs.items()}).values()
    np.testing.assert_allclose(logits, model(inputs), rtol=1e-5, atol=1e-6)


def functional(layer, *shapes):
    """A functional model of one layer, called on keras.Input of each shape without its batch."""
    inputs = [
        keras.Input(shape, dtype="bool" if len(shape) == 1 else "float32") for shape in shapes
    ]
    return keras.Model(inputs, layer(*inputs))


def test_attention_on_keras_input():
    layer = BahdanauAttention(A)
    random = np.random.default_rng(1)
    model = functional(layer, (None, N), (None, 2 * N), (None,))
    states = random.normal(size=(2, 3, N)).astype("float32")
    annotations = random.normal(size=(2, 6, 2 * N)).astype("float32")
    mask = np.array([[True] * 6, [True] * 4 + [False] * 2])
    context, alignment = model([states, annotations, mask])
    weights = layer.paper_weights()
    for b in range(2):
        for k in range(3):
            energy = (
                np.tanh(states[b, k] @ weights["W_a"] + annotations[b] @ weights["U_a"])
                @ weights["v_a"]
            )
            expected = np.where(mask[b], np.exp(energy), 0) / np.exp(energy)[mask[b]].sum()
            np.testing.assert_allclose(alignment[b, k], expected, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(
                context[b, k], expected @ annotations[b], rtol=1e-5, atol=1e-6
            )


@pytest.mark.parametrize(
    "layer", (Decoder(N, A), Decoder(N, A, unit="lstm"), Decoder(N, 2, attention="gaussian_window"))
)
def test_decoders_on_keras_input(layer):
    model = functional(layer, (None, M), (None, 2 * N), (None,))
    random = np.random.default_rng(2)
    words = random.normal(size=(2, 3, M)).astype("float32")
    annotations = random.normal(size=(2, 5, 2 * N)).astype("float32")
    mask = np.ones((2, 5), bool)
    states, contexts, alignments = model([words, annotations, mask])
    assert (states.shape, contexts.shape, alignments.shape) == ((2, 3, N), (2, 3, 2 * N), (2, 3, 5))
    for k in range(1, 4):  # a state depends on no later word
        np.testing.assert_allclose(
            model([words[:, :k], annotations, mask])[0], states[:, :k], rtol=1e-5, atol=1e-6
        )


def test_deep_output_on_keras_input():
    layer = DeepOutput(11, 6)
    random = np.random.default_rng(3)
    model = functional(layer, (None, N), (None, M), (None, 2 * N))
    values = [random.normal(size=(2, 3, size)).astype("float32") for size in (N, M, 2 * N)]
    weights = layer.paper_weights()
    t = (
        sum(value @ weights[letter] for value, letter in zip(values, ("U_o", "V_o", "C_o")))
        + weights["b_o"]
    )
    expected = t.reshape(2, 3, 6, 2).max(axis=-1) @ weights["W_o"] + weights["b_softmax"]
    np.testing.assert_allclose(model(values), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("encoder", (BiGRUEncoder(N), Encoder(N, unit="lstm")))
def test_encoders_take_the_mask_of_mask_zero(encoder):
    embedding = keras.layers.Embedding(9, M, mask_zero=True)
    ids = np.array([[3, 4, 5, 0, 0], [3, 4, 5, 6, 7]])
    annotations = encoder(embedding(ids))
    np.testing.assert_allclose(
        annotations[:1, :3], encoder(embedding(ids[:1, :3])), rtol=1e-5, atol=1e-6
    )
    assert keras.ops.convert_to_numpy(annotations._keras_mask).tolist() == (ids != 0).tolist()


def test_an_encoder_without_mask_reads_every_position():
    encoder = BiGRUEncoder(N)
    words = np.random.default_rng(4).normal(size=(2, 5, M)).astype("float32")
    np.testing.assert_array_equal(encoder(words), encoder(words, np.ones((2, 5), bool)))


def test_load_model_takes_a_run(tmp_path):
    run = write_run(tmp_path / "run")
    model = rnnsearch_tf.load_model(run)
    inputs = {name: tf.constant([[5, 6, 1]]) for name in ("source_ids", "target_ids")}
    np.testing.assert_array_equal(model(inputs), rnnsearch_tf.Translator.load(run).model(inputs))
    with pytest.raises(UserError, match="nothing"):
        rnnsearch_tf.load_model(tmp_path / "nothing")
