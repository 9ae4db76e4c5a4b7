"""RNNsearch in one file (notebooks/rnnsearch_in_one_file.py) computes what the package computes."""

import importlib.util
import pathlib

import numpy as np
import pytest
from tiny_rnnsearch import SIZES, SOURCE_SIZE, TARGET_SIZE, batch, tiny_model

from rnnsearch_tf.config import SearchConfig
from rnnsearch_tf.models import TranslationLoss
from rnnsearch_tf.search.beam import beam_search

FILE = pathlib.Path(__file__).parents[2] / "notebooks" / "rnnsearch_in_one_file.py"


@pytest.fixture(scope="module")
def one_file():
    spec = importlib.util.spec_from_file_location("rnnsearch_in_one_file", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def models(one_file):
    """(the package's model, the file's with the same weights)."""
    ours = tiny_model("float32", decoder_order="paper", biases="none")
    weights = ours.paper_weights()
    theirs = one_file.RNNSearch(
        SOURCE_SIZE,
        TARGET_SIZE,
        m=SIZES["embedding_size"],
        n=SIZES["hidden_size"],
        alignment_size=SIZES["alignment_size"],
        maxout_size=SIZES["maxout_size"],
    )
    named = {"E_source": theirs.E_source, "E_target": theirs.E_target, "W_s": theirs.W_s}
    for letter in ("W_a", "U_a", "v_a"):
        named[letter] = getattr(theirs.attention, letter)
    for letter in ("U_o", "V_o", "C_o", "W_o"):
        named[letter] = getattr(theirs.output_layer, letter)
    units = {
        "encoder.forward.": theirs.encoder.forward,
        "encoder.backward.": theirs.encoder.backward,
        "": theirs.unit,
    }
    for prefix, unit in units.items():
        for letter in "WUC":
            for gate, weight in (getattr(unit, letter) or {}).items():
                named[f"{prefix}{letter}{gate}"] = weight
    assert named.keys() == weights.keys()
    for symbol, weight in named.items():
        weight.assign(np.reshape(weights[symbol], weight.shape))
    return ours, theirs


def test_logits_and_loss(models, one_file):
    ours, theirs = models
    pairs = batch()
    expected = ours(pairs)
    logits = theirs([pairs["source_ids"], pairs["target_ids"]])
    real = pairs["target_ids"] != 0
    np.testing.assert_allclose(logits[real], expected[real], rtol=2e-5, atol=2e-5)
    ours.compile("sgd", loss=TranslationLoss("token_mean"))
    reported = ours.evaluate(pairs, verbose=0, return_dict=True)["loss"]
    np.testing.assert_allclose(one_file.loss(pairs["target_ids"], logits), reported, rtol=1e-5)


def test_greedy_search(models):
    ours, theirs = models
    source_ids = batch()["source_ids"]
    length = source_ids.shape[1] + 20
    ids, alignments = theirs.translate(source_ids, length)
    config = SearchConfig(beam_size=1, length_penalty=0.0, maximum_length_ratio=2.0)
    found = beam_search(ours, source_ids, config, alignments=True)
    for row, hypothesis in enumerate(found.ids[:, 0].numpy()):
        words = [word for word in hypothesis if word]
        assert ids[row].numpy()[: len(words)].tolist() == words
        width = found.alignments.shape[-1]
        expected = found.alignments[row, 0, : len(words)].numpy()
        np.testing.assert_allclose(alignments[row, : len(words), :width], expected, atol=1e-5)


def test_it_is_short_and_stands_alone():
    text = FILE.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 250
    assert "rnnsearch_tf" not in text


@pytest.mark.slow
def test_it_learns(one_file):
    assert one_file.main() > 0.9
