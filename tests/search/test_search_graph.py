"""Search under tf.function: one trace for all shapes, no batch, a SavedModel in another process."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
import search_reference as reference
import tensorflow as tf
from search_toy import Toy
from tiny_rnnsearch import PAIRS, batch, padded, tiny_model

from rnnsearch_tf.config import SearchConfig
from rnnsearch_tf.search.beam import beam_search
from rnnsearch_tf.search.graphs import search_model
from rnnsearch_tf.search.sampling import sample
from rnnsearch_tf.search.scoring import score_targets

SIZE = 6
LEAVES = [
    tf.TensorSpec([None, SIZE], tf.float64),
    tf.TensorSpec([None, None, SIZE], tf.float64),
    tf.TensorSpec([None, None], tf.bool),
    tf.TensorSpec([None], tf.int32),
]
CONFIG = SearchConfig(beam_size=4, nbest=2, maximum_length_ratio=2.0)
SENTENCES = (3, 5, 2, 6)


def leaves(toy, sentences):
    state, memory, lengths = toy.start(sentences)
    return state["hidden"], memory["keys"], memory["mask"], lengths


def unpack(hidden, keys, mask):
    return {"hidden": hidden, "time": tf.zeros(tf.shape(hidden)[:1], tf.int32)}, {
        "keys": keys,
        "mask": mask,
    }


@pytest.fixture(scope="module")
def module():
    toy = Toy(seed=9, vocabulary_size=9, source_lengths=SENTENCES, end_bias=1.0)
    module = tf.Module()
    module.traces = []
    module.toy = toy

    @tf.function(autograph=False, input_signature=LEAVES)
    def search(hidden, keys, mask, lengths):
        module.traces.append("search")
        return beam_search(*unpack(hidden, keys, mask), toy.step, lengths, CONFIG)._asdict()

    @tf.function(autograph=False, input_signature=[*LEAVES, tf.TensorSpec([None], tf.int64)])
    def draw(hidden, keys, mask, lengths, seeds):
        module.traces.append("draw")
        return sample(*unpack(hidden, keys, mask), toy.step, lengths, seeds, CONFIG)._asdict()

    @tf.function(autograph=False, input_signature=[*LEAVES, tf.TensorSpec([None, None], tf.int32)])
    def score(hidden, keys, mask, lengths, target_ids):
        module.traces.append("score")
        return score_targets(*unpack(hidden, keys, mask), toy.step, target_ids)._asdict()

    module.search = search
    module.draw = draw
    module.score = score
    return module


@pytest.mark.parametrize("beam_size", [1, 4])
def test_without_alignments_the_search_is_the_same(beam_size):
    """And keeps none of them."""
    model = tiny_model("float32")
    config = dataclasses.replace(CONFIG, beam_size=beam_size, nbest=1)
    sources = padded([source for source, _ in PAIRS])
    lengths = tf.math.count_nonzero(sources, axis=1, dtype=tf.int32)
    expected, found = (
        search_model(model, sources, lengths, config, alignments=kept) for kept in (True, False)
    )
    for name in ("ids", "lengths", "scores", "finished"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert expected.alignments.shape[3] == sources.shape[1]
    assert found.alignments.shape[3] == 0


@pytest.mark.parametrize("sentences", [[0, 1, 2, 3], [3], [1, 1, 1]])
def test_one_trace_serves_every_shape(module, sentences):
    arguments = leaves(module.toy, sentences)
    found = module.search(*arguments)
    for row, sentence in enumerate(sentences):
        for n, expected in enumerate(reference.beam(module.toy, sentence, CONFIG)):
            assert (
                found["ids"][row, n, : found["lengths"][row, n]].numpy().tolist() == expected.words
            )
    target_ids = found["ids"][:, 0]
    np.testing.assert_allclose(
        tf.reduce_sum(module.score(*arguments, target_ids)["log_probabilities"], axis=1),
        found["log_probabilities"][:, 0],
        atol=1e-6,
    )
    drawn = module.draw(*arguments, tf.fill([len(sentences)], tf.constant(3, tf.int64)))
    assert drawn["ids"].shape[0] == len(sentences)
    assert (
        module.traces.count("search")
        == module.traces.count("draw")
        == module.traces.count("score")
        == 1
    )


@pytest.mark.slow
def test_a_graph_of_known_sizes_gives_the_same():
    """Sizes known when it is traced vary in the loop all the same: the optimizer must not take the
    first step's for good.
    """
    model = tiny_model("float32")
    ids = batch()["source_ids"]

    def search(ids):
        lengths = tf.math.count_nonzero(ids, axis=1, dtype=tf.int32)
        return beam_search(*model.start(ids), model.step, lengths, CONFIG)._asdict()

    expected = tf.function(
        search, autograph=False, input_signature=[tf.TensorSpec([None, None], tf.int32)]
    )(ids)
    for name, found in tf.function(search, autograph=False)(ids).items():
        np.testing.assert_allclose(found, expected[name], atol=1e-6)


def test_no_sentence_gives_no_answer(module):
    arguments = [x[:0] for x in leaves(module.toy, [0, 1])]
    found = module.search(*arguments)
    assert found["ids"].shape[:2] == (0, 2) and found["alignments"].shape[:2] == (0, 2)
    assert module.draw(*arguments, tf.zeros([0], tf.int64))["lengths"].shape == (0,)
    assert module.score(*arguments, tf.zeros([0, 3], tf.int32))["log_probabilities"].shape == (0, 3)


LOAD = """
import sys
import numpy as np
import tensorflow as tf

tf.compat.v1.disable_eager_execution()
with tf.compat.v1.Session(graph=tf.Graph()) as session:
    loaded = tf.compat.v1.saved_model.load(session, ["serve"], sys.argv[1])
    signature = loaded.signature_def["serving_default"]
    arguments = np.load(sys.argv[2])
    feed = {signature.inputs[name].name: arguments[name] for name in arguments.files}
    fetch = {name: tensor.name for name, tensor in signature.outputs.items()}
    np.savez(sys.argv[3], **session.run(fetch, feed))
"""


def test_saved_model_answers_without_the_package(module, tmp_path):
    """A fresh process with TensorFlow alone, through a session, as the stock server loads it."""
    tf.saved_model.save(
        module, tmp_path / "model", signatures=module.search.get_concrete_function()
    )
    arguments = leaves(module.toy, [0, 1, 2, 3])
    names = ["hidden", "keys", "mask", "lengths"]
    np.savez(tmp_path / "in.npz", **{name: x.numpy() for name, x in zip(names, arguments)})
    command = [
        sys.executable,
        "-c",
        LOAD,
        tmp_path / "model",
        tmp_path / "in.npz",
        tmp_path / "out.npz",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    loaded = np.load(tmp_path / "out.npz")
    here = module.search(*arguments)
    assert sorted(loaded.files) == sorted(here)
    for name in here:
        np.testing.assert_allclose(loaded[name], here[name], atol=1e-6)
