"""Search under tf.function: one trace for all shapes, no batch, a SavedModel in another process."""

import subprocess
import sys

import numpy as np
import pytest
import search_reference as reference
import tensorflow as tf
from search_toy import Toy
from tiny_rnnsearch import batch, tiny_model

from rnnsearch_tf.config import SearchConfig
from rnnsearch_tf.search.beam import beam_search
from rnnsearch_tf.search.graphs import IDS
from rnnsearch_tf.search.sampling import sample

CONFIG = SearchConfig(beam_size=4)
SENTENCES = (3, 5, 2, 6)


@pytest.fixture(scope="module")
def module():
    toy = Toy(seed=9, vocabulary_size=9, source_lengths=SENTENCES, end_bias=1.0)
    module = tf.Module()
    module.traces = []
    module.toy = toy

    @tf.function(autograph=False, input_signature=[IDS])
    def search(source_ids):
        module.traces.append("search")
        return beam_search(toy, source_ids, CONFIG, 2, True)._asdict()

    @tf.function(autograph=False, input_signature=[IDS, tf.TensorSpec([None], tf.int64)])
    def draw(source_ids, seeds):
        module.traces.append("draw")
        return sample(toy, source_ids, seeds, CONFIG)._asdict()

    module.search = search
    module.draw = draw
    return module


@pytest.mark.parametrize("sentences", [[0, 1, 2, 3], [3], [1, 1, 1]])
def test_one_trace_serves_every_shape(module, sentences, no_room):
    source_ids = module.toy.source_ids(sentences)
    found = module.search(source_ids)
    for row, sentence in enumerate(sentences):
        for n, expected in enumerate(reference.beam(module.toy, sentence, CONFIG, 2)):
            assert (
                found["ids"][row, n, : found["lengths"][row, n]].numpy().tolist() == expected.words
            )
    drawn = module.draw(source_ids, tf.fill([len(sentences)], tf.constant(3, tf.int64)))
    assert drawn["ids"].shape[0] == len(sentences)
    assert module.traces.count("search") == module.traces.count("draw") == 1


@pytest.mark.slow
def test_a_graph_of_known_sizes_gives_the_same():
    """Sizes known when it is traced vary in the loop all the same: the optimizer must not take the
    first step's for good.
    """
    model = tiny_model("float32")
    ids = batch()["source_ids"]

    def search(ids):
        return beam_search(model, ids, CONFIG, 2, True)._asdict()

    expected = tf.function(search, autograph=False, input_signature=[IDS])(ids)
    for name, found in tf.function(search, autograph=False)(ids).items():
        np.testing.assert_allclose(found, expected[name], atol=1e-6)


def test_no_sentence_gives_no_answer(module):
    source_ids = module.toy.source_ids([0, 1])[:0]
    found = module.search(source_ids)
    assert found["ids"].shape[:2] == (0, 2) and found["alignments"].shape[:2] == (0, 2)
    assert module.draw(source_ids, tf.zeros([0], tf.int64))["log_probabilities"].shape == (0,)


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
    source_ids = module.toy.source_ids()
    np.savez(tmp_path / "in.npz", source_ids=source_ids.numpy())
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
    here = module.search(source_ids)
    assert sorted(loaded.files) == sorted(here)
    for name in here:
        np.testing.assert_allclose(loaded[name], here[name], atol=1e-6)
