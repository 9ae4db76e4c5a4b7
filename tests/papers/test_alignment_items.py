"""The items of alignments and of rare words: what they compare, and that the links of guided
alignment are made once.
"""

import importlib.util
import json

import pytest
import sacrebleu
from papers_data import multi30k
from test_reproduce import diagonal, overrides, read

from papers.__main__ import main as reproduce
from rnnsearch_tf.cli.main import run
from rnnsearch_tf.data.phrasebook import phrasebook_alignments
from papers import alignment
from papers import items
from papers import rare_words
from papers.workspace import Workspace


def test_links_of_guided_alignment_are_made_once_and_of_every_line(tmp_path, monkeypatch):
    monkeypatch.setattr("rnnsearch_tf.alignment.aligners.align", diagonal)
    work = Workspace(tmp_path / "out", multi30k(tmp_path / "data"))
    assert work.config("rnnsearch-50-guided", 1, guided=False).data.train_alignments is None
    path = tmp_path / "out/texts/up-to-50/train.links"
    assert not path.exists()
    config = work.config("rnnsearch-50-guided", 1)
    assert (config.data.train_alignments, config.training.guided_alignment_weight) == (
        "train.links",
        1.0,
    )
    lines = [len(line.split()) for line in read(path.parent / "train.en")]
    assert [line.split() for line in read(path)] == [
        [f"{k}-{k}" for k in range(count)] for count in lines
    ]
    path.write_text("kept\n", encoding="utf-8")
    work.config("rnnsearch-50-guided", 2)
    assert read(path) == ["kept"]


def test_the_aligners_are_asked_for_before_anything_is_trained(tmp_path, monkeypatch, capsys):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *package: None if name == "thot" else find(name, *package),
    )
    assert reproduce(["alignment-phrasebook", "--output", str(tmp_path)]) == 1
    assert 'pip install "rnnsearch-tf[smt]"' in capsys.readouterr().err
    assert not (tmp_path / "models").exists()


def test_agreement_is_counted_over_all_sentences(tmp_path, monkeypatch):
    """1 − AER by hand: 2 |A ∩ S| / (|A| + |S|)."""
    work = Workspace(tmp_path, None, seeds=[1])
    links = {
        "fast_align": [[(0, 0), (1, 1)], [(2, 0)]],
        "hmm": [[(0, 0)], []],
        "ibm4": [[(0, 0), (1, 1)], [(2, 0)]],
    }
    for kind, found in links.items():
        work.output(f"links-{kind}", lambda found=found: found)
    monkeypatch.setattr(alignment, "_links_of_model", lambda *_: [[(0, 0), (1, 0)], [(2, 0)]])
    rows = alignment.multi30k(work, ["model"]).ours
    assert [row["alignment"] for row in rows] == ["model", "fast_align", "HMM", "IBM Model 4"]
    assert rows[0]["fast_align"] == pytest.approx(4 / 6) and rows[0]["HMM"] == pytest.approx(2 / 4)
    assert rows[2]["fast_align"] == pytest.approx(2 / 4) and rows[3]["fast_align"] == 1


def test_aligners_are_judged_by_the_grammars_links(tmp_path, monkeypatch):
    monkeypatch.setattr(alignment, "align", diagonal)
    work = Workspace(tmp_path, None, seeds=[1])
    work.measured(
        "attention-phrasebook-rnnsearch-1",
        lambda: {"BLEU": 90.0, "AER": 0.2, "precision": 0.8, "recall": 0.7},
    )
    own, *others = alignment.phrasebook(work, ["phrasebook-rnnsearch"]).ours
    assert own == {"system": "rnnsearch", "BLEU": 90.0, "AER": 0.2, "precision": 0.8, "recall": 0.7}
    gold = phrasebook_alignments(500, 1, "test")
    straight = sum(j == i for links in gold for j, i in links)
    all_gold = sum(map(len, gold))
    assert [row["recall"] for row in others] == pytest.approx([straight / all_gold] * 3)


@pytest.mark.slow
def test_rare_words(tmp_path, monkeypatch, capsys):
    """Every row against the verbs: translate with the flags of that way, BLEU by sacreBLEU."""
    monkeypatch.setattr("rnnsearch_tf.alignment.aligners.align", diagonal)
    monkeypatch.setattr("papers.__main__.require", lambda *_: None)
    data = multi30k(tmp_path / "data")
    small = [
        "source.vocabulary_size=30",
        "target.vocabulary_size=30",
        "model.maxout_size=8",
        "model.alignment_size=8",
    ]
    # it learns that most words are unknown
    updates = [
        "training.maximum_updates=40",
        "training.evaluate_every=40",
        "training.learning_rate=0.02",
    ]
    command = [
        "rare-words",
        "--data",
        str(data),
        "--output",
        str(tmp_path),
        *overrides([*small, *updates]),
    ]
    assert reproduce(command) == 0
    rows = json.loads((tmp_path / "rare-words.json").read_text(encoding="utf-8"))["ours"]
    source = tmp_path / "source"
    source.write_text(
        "".join(f"{line}\n" for line in read(tmp_path / "texts/up-to-50/test.en")[:40]),
        encoding="utf-8",
    )
    references = [line.lower() for line in read(tmp_path / "texts/up-to-50/test.fr")[:40]]
    flags = {0: [], 1: ["--set", "search.allow_unknown=false"], 2: ["--replace-unknown"]}
    capsys.readouterr()
    for number, more in flags.items():
        model = str(tmp_path / f"models/{rows[number]['model']}-1234")
        assert (
            run(
                [
                    "translate",
                    "--model",
                    model,
                    "--beam-size",
                    str(rare_words.BEAM),
                    *more,
                    str(source),
                ]
            )
            == 0
        )
        texts = [line.replace("<unk>", "unk") for line in capsys.readouterr().out.splitlines()]
        expected = sacrebleu.corpus_bleu(
            texts, [references], tokenize="none", force=True, lowercase=True
        ).score
        assert rows[number]["BLEU"] == pytest.approx(expected), rows[number]
    assert rows[1]["unknown words left"] == rows[2]["unknown words left"] == 0
    assert rows[0]["such sentences"] > 0 and rows[0]["unknown words left"] > 40


def test_every_item_that_needs_aligners_says_so():
    assert {name for name, item in items.ITEMS.items() if item.aligners} == {
        "alignment-phrasebook",
        "alignment-multi30k",
        "rare-words",
        "bahdanau2015-scaling",  # phrase-based systems of its own
    }
