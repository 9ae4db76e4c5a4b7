"""The equations against the programs that others wrote: log-probabilities, attention, beam search.

A folder beside this file has what a program computed with a tiny model that it trained, in
``outputs.npz``. ``weights.npz`` has the weights of that model by our letters, for ids in our order;
``source_order`` and ``target_order`` are the program's ids (−1: it has no padding).

- GroundHog, commit 4d2433b, the last one and the program of the paper, on Theano 0.8.2:
  prototype_search_state (RNNsearch) and prototype_encdec_state (RNNencdec) with smaller sizes.
- OpenNMT-tf 2.32.0 on TensorFlow 2.13.1: LuongAttention of its catalogue with smaller sizes.

Commit 0e83d7ed has the scripts that ran them, ``make_*.py`` in this folder. The weights are the
programs' own numbers, but for OpenNMT-tf:

- A begin symbol stands before its first word, with the embedding e; here zeros stand there. So e
  was taken from all target embeddings, and e W added to the bias of each gate that reads them.
- Its source embeddings have 8 values, here as many as the target's, 9: the last one is zero.
"""

import pathlib

import numpy as np
import pytest
import tensorflow as tf
from tiny_rnnsearch import padded

from rnnsearch_tf.config import Config, ModelConfig, SearchConfig
from rnnsearch_tf.models import build_model
from rnnsearch_tf.search.beam import beam_search

GROUNDHOG = dict(embedding_size=6, hidden_size=10, alignment_size=10, maxout_size=5, output_rank=6)
MODELS = {
    "groundhog-search": dict(system="rnnsearch", **GROUNDHOG),
    "groundhog-encdec": dict(system="rnnencdec", **GROUNDHOG | dict(alignment_size=1000)),
    "opennmt-tf-luong": dict(
        system="luong",
        unit="lstm",
        layers=2,
        attention_score="general",
        input_feeding=True,
        embedding_size=9,
        hidden_size=10,
    ),
}
AS_GROUNDHOG = SearchConfig(
    beam_size=5, shrinking_beam=True, length_penalty=0.0, minimum_length_ratio=0.5
)
NEAR = dict(rtol=0, atol=5e-5)  # float32 on both sides, another order of sums


class Program:
    """A model with the weights of a program, and what the program computed.

    Attributes:
        model: our model.
        outputs: the arrays of outputs.npz.
        order: {side: the program's id of each of our ids}.
        pairs: source and target ids of every sentence, in our order.
    """

    def __init__(self, name):
        folder = pathlib.Path(__file__).parent / name
        self.outputs = np.load(folder / "outputs.npz")
        weights = dict(np.load(folder / "weights.npz"))
        self.order = {side: weights.pop(f"{side}_order") for side in ("source", "target")}
        sizes = [len(order) for order in self.order.values()]
        self.model = build_model(Config(model=ModelConfig(**MODELS[name])), *sizes)
        self.model.assign_paper_weights(weights)
        count = sum(key.startswith("source_") for key in self.outputs)
        self.pairs = [
            [self.here(side, self.outputs[f"{side}_{i}"]) for side in self.order]
            for i in range(count)
        ]

    def here(self, side, ids):
        """Our ids of the program's ids."""
        return [int(np.flatnonzero(self.order[side] == id_)[0]) for id_ in ids]


@pytest.fixture(scope="module", params=MODELS)
def program(request):
    return Program(request.param)


def forced(program):
    """(log-probabilities [B, I, V], alignments [B, I, J] or None) of all pairs."""
    source, target = (padded(rows, extra=1) for rows in zip(*program.pairs))
    logits = program.model({"source_ids": source, "target_ids": target})
    alignments = None
    if program.model.has_attention:
        alignments = program.model.attended_features(source, target)[1].numpy()
    return tf.nn.log_softmax(logits).numpy(), alignments


def test_log_probabilities_and_attention(program):
    scores, alignments = forced(program)
    for row, (_, target) in enumerate(program.pairs):
        words = scores[row, np.arange(len(target)), target]
        np.testing.assert_allclose(words, program.outputs[f"logprob_{row}"], **NEAR)
        if alignments is not None:
            attention = program.outputs[f"attention_{row}"]
            found = alignments[row, : len(target), : attention.shape[1]]
            np.testing.assert_allclose(found, attention, **NEAR)


def test_whole_distributions(program):
    scores, _ = forced(program)
    assert scores[:, :, 0].max() < -1e3  # the padding, which the program does not have
    for row in range(3):
        expected = program.outputs[f"log_softmax_{row}"][:, program.order["target"][1:]]
        found = scores[row, : len(expected), 1:]
        # GroundHog takes the logarithm of probabilities in float32, which may be 0
        found, expected = (np.maximum(values, -60.0) for values in (found, expected))
        np.testing.assert_allclose(found, expected, **NEAR)


@pytest.mark.parametrize("name", ["groundhog-search", "groundhog-encdec"])
def test_beam_search_finds_the_same_translations(name):
    """Beam 5, ranked by the sum of the log-probabilities.

    Not of OpenNMT-tf: the scores of its search are not the sums of its own log-probabilities, and
    so its choice differs.
    """
    program = Program(name)
    sources = padded([source for source, _ in program.pairs])
    found = beam_search(program.model, sources, AS_GROUNDHOG, nbest=5)
    for row in range(len(program.pairs)):
        costs = program.outputs[f"beam_cost_{row}"]
        for place, cost in enumerate(costs):
            expected = program.here("target", program.outputs[f"beam_{row}_{place}"])
            ids = found.ids[row, place].numpy()[: found.lengths[row, place]]
            assert ids.tolist() == expected, (row, place)
            np.testing.assert_allclose(-found.log_probabilities[row, place], cost, **NEAR)
