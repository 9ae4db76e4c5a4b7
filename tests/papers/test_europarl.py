"""The scale of Europarl on small local copies: its texts, downloads, trainings and pages."""

import json
import pathlib

import pytest
from wmt14_copies import QUICK, command, lines, pairs_of, texts

from papers import wmt14
from papers.__main__ import main as reproduce
from papers.bahdanau2015 import PAPER_TABLE_2
from papers.europarl import EUROPARL_RECIPES, NOTE, EuroparlTexts
from papers.scales import SCALES
from papers.workspace import Workspace
from rnnsearch_tf.data.prepared.store import PreparedPairs


def test_europarl_and_the_news_commentary_are_its_whole_text(data):
    """Of the other archives nothing is asked: they may be missing. Nothing is selected."""
    for archive in wmt14.ARCHIVES[2:]:
        (data / "wmt14" / archive.name).unlink()
    work = Workspace(
        data.parent / "out",
        data,
        overrides=["source.vocabulary_size=12"],
        scale=SCALES["europarl"],
    )
    steps_of_it = work.steps([(name, 1234) for name in EUROPARL_RECIPES])
    assert [step.does.partition(" ")[0] for step in steps_of_it] == [
        "join",
        "check",
        "tokenize,",
        "tokenize,",
    ]
    assert "120 pairs" in steps_of_it[1].does
    for step in steps_of_it:
        step.make()
    train = EuroparlTexts(data.parent / "out", data).train
    for side, path in enumerate(train):
        assert lines(path) == pairs_of("europarl")[side] + pairs_of("nc")[side]
    assert not any(path.exists() for path in texts(data).train), "no file of the paper's scale"
    assert PreparedPairs(data.parent / "out" / "ids" / "up-to-50").count == 120


def test_the_sizes_of_europarl_are_those_of_its_archives():
    found = EuroparlTexts("out", "data")
    assert [archive.name for archive in found.archives] == [
        "training-parallel-europarl-v7.tgz",
        "training-parallel-nc-v9.tgz",
    ]
    assert found.pairs == found.training_pairs == 2_190_974


def test_two_archives_and_the_test_sets_are_downloaded_for_europarl(server, data, capsys):
    for archive in wmt14.ARCHIVES[:2]:
        server[archive.url][0] = OSError("no network")
    assert reproduce(command(data, scale="europarl")) == 1
    said = " ".join(capsys.readouterr().err.split())
    missing = ", ".join(archive.name for archive in wmt14.ARCHIVES[:2])
    assert f"by hand and run the command again: {missing}; docs/guides" in said
    assert "6 steps before the trainings" in said
    assert "4 models to train, about 183 h 41 min of two cores in all, 14.8 GB" in said


def test_the_trainings_on_europarl_are_a_quarter_of_the_papers(data, tmp_path):
    work = Workspace(tmp_path / "out", data, scale=SCALES["europarl"])
    assert list(EUROPARL_RECIPES) == [name for name, *_ in PAPER_TABLE_2[:4]]
    for name, updates, *_ in PAPER_TABLE_2[:4]:
        config = work.config(name, 7)
        assert config.training.maximum_updates == updates // 4
        assert config.training.evaluate_every == updates // 32
        assert (config.model.hidden_size, config.training.optimizer) == (1000, "adadelta")
        assert config.data.prepared.endswith(f"ids/up-to-{config.data.maximum_source_length}")
        # the updates end it, not the epochs
        assert config.training.epochs * 1_000_000 > config.training.maximum_updates * 80
        text = work.config(name, 7, prepared=False).data
        assert pathlib.Path(text.folder) / text.train_source == data / "wmt14/europarl-nc.en.gz"
    assert all(
        "rnnsearch-50-longer" not in item.models for item in SCALES["europarl"].items.values()
    )


@pytest.mark.slow
def test_the_items_on_europarl(data, capsys):
    """From the archives to the pages by one command, with tiny models."""
    settings = [word for each in QUICK for word in ("--set", each)]
    assert reproduce(command(data, "all", *settings, scale="europarl")) == 0
    out = data.parent / "out"
    items = SCALES["europarl"].items
    assert capsys.readouterr().out.splitlines() == [str(out / f"{item}.md") for item in items]
    page = json.loads((out / "bahdanau2015-table1.json").read_text(encoding="utf-8"))
    assert [row["model"] for row in page["ours"]] == list(EUROPARL_RECIPES)
    assert "--scale europarl" in page["made"]["command"]
    for item in items:
        assert NOTE in (out / f"{item}.md").read_text(encoding="utf-8")
