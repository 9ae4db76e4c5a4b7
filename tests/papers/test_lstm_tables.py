"""The pages of the deep LSTM: perplexity, ensembles of seeds, layers, long sentences."""

import math
import types

import pytest
import sacrebleu

from papers import items
from papers import sutskever2014
from papers.workspace import Workspace

SOURCES = ["a red car stops here now", "two dogs run", "the man reads a book", "a", "b c d e f g h"]
REFERENCES = ["une auto", "deux chiens courent ici", "un homme lit le livre", "x", "y z y z y"]


class Model:
    """Every word has the probability that belongs to the model; translations name the model."""

    def __init__(self, name, seeds):
        self.name, self.seeds = name, seeds
        self.probability = 1 / (2 + len(name) + sum(seeds) % 10)

    def score(self, sources, targets):
        assert sources == SOURCES
        return [(len(target.split()) + 1) * math.log(self.probability) for target in targets]

    def translate(self, sources, beam_size):
        right = len(self.seeds) + (beam_size > 1)
        return [
            types.SimpleNamespace(text=text if k < right else f"{self.name} {beam_size}")
            for k, text in enumerate(REFERENCES)
        ]


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.setattr(sutskever2014, "read_multi30k", lambda data, part: (SOURCES, REFERENCES))
    monkeypatch.setattr(Workspace, "translator", lambda work, name, *seeds: Model(name, seeds))
    monkeypatch.setattr(Workspace, "is_trained", lambda work, name, seed: True)
    return Workspace(tmp_path, None, seeds=[1, 2, 3])


def bleu(right, name, beam):
    texts = [text if k < right else f"{name} {beam}" for k, text in enumerate(REFERENCES)]
    return sacrebleu.corpus_bleu(texts, [REFERENCES]).score


def test_table_1_has_every_seed_and_ensembles_of_the_first(work):
    rows = {row["LSTM"]: row for row in sutskever2014.table_1(work, items.SUTSKEVER).ours}
    assert list(rows) == [
        "forward",
        "reversed",
        "ensemble of 2, reversed",
        "ensemble of 3, reversed",
    ]
    for system, name in (("forward", "lstm-forward"), ("reversed", "lstm-reversed")):
        assert rows[system]["test perplexity"] == pytest.approx(
            [2 + len(name) + seed for seed in (1, 2, 3)]
        )
        assert rows[system]["beam 12"] == pytest.approx([bleu(2, name, 12)] * 3)
    for count in (2, 3):
        row = rows[f"ensemble of {count}, reversed"]
        assert row["test perplexity"] is None
        assert row["beam 1"] == pytest.approx(bleu(count, "lstm-reversed", 1))
        assert row["beam 12"] == pytest.approx(bleu(count + 1, "lstm-reversed", 12))


def test_an_ensemble_whose_models_are_gone_is_left_out_unless_it_was_measured(work, monkeypatch):
    work.seeds = [1, 2]
    sutskever2014.table_1(work, items.SUTSKEVER)
    monkeypatch.setattr(Workspace, "is_trained", lambda work, name, seed: seed == 3)
    work.seeds = [1, 2, 3]
    systems = [row["LSTM"] for row in sutskever2014.table_1(work, items.SUTSKEVER).ours]
    assert systems == ["forward", "reversed", "ensemble of 2, reversed"]


def test_the_largest_ensemble_has_five_models_as_the_papers(work):
    work.seeds = [1, 2, 3, 4, 5, 6, 7]
    rows = {row["LSTM"]: row for row in sutskever2014.table_1(work, items.SUTSKEVER).ours}
    assert [system for system in rows if "ensemble" in system] == [
        f"ensemble of {count}, reversed" for count in (2, 3, 4, 5)
    ]
    assert len(rows["reversed"]["beam 12"]) == 7


def test_a_row_for_each_number_of_layers(work):
    rows = sutskever2014.depth(work, items.DEPTH).ours
    assert [row["layers"] for row in rows] == [1, 2, 3]
    # of the first seed: models of one and three layers have no other
    assert [row["test perplexity"] for row in rows] == pytest.approx([15, 16, 16])
    assert [row["BLEU, beam 12"] for row in rows] == [
        pytest.approx(bleu(2, name, 12)) for name in items.DEPTH
    ]


def test_table_3_has_the_longest_captions(work):
    rows = sutskever2014.table_3(work, items.DEPTH[1:2]).ours
    assert [row["source"] for row in rows] == [SOURCES[k] for k in (4, 0, 2)]
    assert [row["reference"] for row in rows] == [REFERENCES[k] for k in (4, 0, 2)]
    assert [row["translation"] for row in rows] == [
        "lstm-reversed 12",
        REFERENCES[0],
        "lstm-reversed 12",
    ]
