"""The configuration of a training that starts from a RUN: what is the RUN's, what is new, what is
mixed.
"""

import collections
import dataclasses
import re

import numpy as np
import pytest

from rnnsearch_tf.config import Config, load_config, named_options, save_config
from rnnsearch_tf.data.continuing import continued_config, new_pairs
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.data.mixture import mixed
from rnnsearch_tf.errors import UsageError, UserError

OLD = 1000
PHRASEBOOK = dict(corpus="phrasebook", train_source=None, train_target=None, held_out=0)


@pytest.fixture
def run(tmp_path, write):
    """A RUN folder as far as configurations go: trained on OLD pairs in files named relative to a
    folder, 100 of them held out.
    """
    for side in ("en", "fr"):
        write(f"old.{side}", [f"old {number} {side}" for number in range(OLD)])
        write(f"new.{side}", [f"new {number} {side}" for number in range(400)])
    folder = tmp_path / "run"
    (folder / "best").mkdir(parents=True)
    for side in ("source", "target"):
        (folder / f"vocabulary.{side}.txt").write_text("")
    data = dict(
        folder=str(tmp_path),
        train_source="old.en",
        train_target="old.fr",
        held_out=100,
        batch_size=7,
    )
    training = dict(schedule="cosine", maximum_updates=50, learning_rate=0.25)
    save_config(
        load_config(values={"data": data, "training": training, "model": {"hidden_size": 5}}),
        folder / "config.yaml",
    )
    return folder


@pytest.fixture
def new(tmp_path):
    return [f"data.train_source={tmp_path / 'new.en'}", f"data.train_target={tmp_path / 'new.fr'}"]


def change(run, **data):
    config = load_config(run / "config.yaml")
    save_config(
        dataclasses.replace(config, data=dataclasses.replace(config.data, **data)),
        run / "config.yaml",
    )


def test_without_new_text_all_is_the_runs_but_what_is_said(run):
    before = load_config(run / "config.yaml")
    assert continued_config(run) == before
    config = continued_config(
        run, overrides=["training.learning_rate=2", "model.hidden_dropout=0.5"]
    )
    assert (config.training.learning_rate, config.model.hidden_dropout, config.data) == (
        2.0,
        0.5,
        before.data,
    )


def test_new_text_has_none_of_the_old_links(run, new, write):
    write("old.links", ["0-0"] * OLD)
    before = load_config(
        run / "config.yaml",
        ["data.train_alignments=old.links", "training.guided_alignment_weight=0.5"],
    )
    save_config(before, run / "config.yaml")
    with pytest.raises(
        UsageError,
        match=(
            r"guided_alignment_weight: expected data.train_alignments, .* or the weight"
            r" to 0"
        ),
    ):
        continued_config(run, overrides=new)
    assert (
        continued_config(
            run, overrides=[*new, "training.guided_alignment_weight=0"]
        ).data.train_alignments
        is None
    )
    assert continued_config(run).data.train_alignments == "old.links"


def test_old_text_that_is_gone_matters_to_a_mixture_alone(run, new, tmp_path):
    """Named as a file or by a pattern."""
    for gone in ("gone.en", "gone.*.en"):
        change(run, train_source=gone, train_target=gone.replace("en", "fr"))
        corpora = [f"{{source: {tmp_path / 'new.en'}, target: {tmp_path / 'new.fr'}}}"] * 2
        config = continued_config(
            run, overrides=["data.held_out=0", f"data.corpora=[{', '.join(corpora)}]"]
        )
        assert [
            len(list(pairs)) for pairs in new_pairs(config, load_config(run / "config.yaml"))
        ] == [400, 400]
        with pytest.raises(
            UserError,
            match=(
                rf"--mix: .*{re.escape(gone)}: expected the text that .* was trained on, found no"
            ),
        ):
            continued_config(run, overrides=new, mix=1.0)


@pytest.mark.parametrize(
    "development", [{}, dict(held_out=0, development_source="old.en", development_target="old.fr")]
)
def test_new_text_takes_the_place_of_all_text(run, new, capsys, development):
    change(run, **development)
    config = continued_config(run, overrides=new)
    development, training = (
        {source for source, _ in open_corpus(config, part)} for part in ("development", "train")
    )
    assert (
        all(source.startswith("new") for source in development | training)
        and not development & training
    )
    assert len(development) + len(training) == 400 and 5 < len(development) < 40
    assert (config.data.folder, config.data.held_out, config.data.batch_size) == (None, 20, 7)
    assert "about 20 pairs of " in capsys.readouterr().err


def test_new_text_may_be_pairs_in_python(run, capsys):
    pairs = [(f"new {number} en", f"new {number} fr") for number in range(400)]
    data = continued_config(run, pairs=pairs).data
    assert (data.corpus, data.train_source, data.folder, data.held_out) == ("files", None, None, 20)
    assert "about 20 of the given pairs are held out" in capsys.readouterr().err
    assert continued_config(run, overrides=["data.held_out=0"], pairs=pairs).data.held_out == 0
    assert capsys.readouterr().err == ""
    with pytest.raises(UsageError, match="--mix: expected new text beside that of .*, got none"):
        continued_config(run, pairs=pairs, mix=1.0)
    no_text = ["data.train_source=null", "data.train_target=null"]
    with pytest.raises(UsageError, match="data.train_source: expected a text file, got none"):
        continued_config(run, overrides=no_text)


def test_a_development_text_that_is_named_counts(run, new, tmp_path, capsys):
    named = [
        f"data.development_source={tmp_path / 'old.en'}",
        f"data.development_target={tmp_path / 'old.fr'}",
    ]
    assert (
        len(list(open_corpus(continued_config(run, overrides=[*new, *named]), "development")))
        == OLD
    )
    assert continued_config(run, overrides=[*new, "data.held_out=0"]).data.held_out == 0
    assert capsys.readouterr().err == ""


def test_a_file_lies_between_the_run_and_overrides(run, new, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("data: {batch_size: 9, held_out: 11}\ntraining: {learning_rate: 4}\n")
    config = continued_config(run, path, [*new, "training.learning_rate=3"])
    assert (config.data.batch_size, config.data.held_out) == (9, 11)
    assert (config.training.learning_rate, config.training.maximum_updates) == (3.0, 50)
    assert named_options(path, ["search.nbest=1"]) == {
        "data.batch_size",
        "data.held_out",
        "training.learning_rate",
        "search.nbest",
    }


def test_one_limit_is_meant_without_the_other(run):
    training = continued_config(run, overrides=["training.maximum_minutes=10"]).training
    assert (training.maximum_minutes, training.maximum_updates) == (10.0, None)


def test_another_corpus_in_place_of_the_built_in_one(run, new):
    change(run, **PHRASEBOOK, folder=None)
    assert continued_config(run, overrides=new).data.corpus == "files"
    change(run, phrasebook_seed=5)
    assert continued_config(run, overrides=["data.phrasebook_size=33"]).data.corpus == "phrasebook"


@pytest.mark.parametrize("times", [0.5, 1.0, 3.0])
def test_mixed_as_many_times_as_asked(run, new, times, tmp_path, capsys, monkeypatch):
    """Counted in whole epochs; the old text's own development pairs stay out, whatever folder the
    training is resumed in.
    """
    old_development = set(open_corpus(load_config(run / "config.yaml"), "development"))
    config = continued_config(run, overrides=[*new, "data.held_out=40"], mix=times)
    save_config(config, tmp_path / "again.yaml")
    monkeypatch.chdir("/")
    pairs = open_corpus(load_config(tmp_path / "again.yaml"))
    pairs.check()
    generator = np.random.default_rng(1)
    epochs = [
        list(
            mixed(
                [(other, other.report.kept, weight) for other, weight in pairs.corpora], generator
            )
        )
        for _ in range(5)
    ]
    counts = collections.Counter(source.split()[0] for source, _ in sum(epochs, []))
    assert counts["old"] / counts["new"] == pytest.approx(times, rel=0.1)
    assert len({source for source, _ in epochs[0] if source.startswith("new")}) == counts["new"] / 5
    assert len(old_development) > 50 and not old_development & set(sum(epochs, []))
    assert {source.split()[0] for source, _ in open_corpus(config, "development")} == {"new"}
    assert (
        f"of the {OLD - len(old_development)} that {run} was trained on"
        in capsys.readouterr().err.replace(",", "")
    )


def test_several_corpora_are_mixed_in_by_their_weights(run, tmp_path):
    names = [
        dict(source=str(tmp_path / f"{name}.en"), target=str(tmp_path / f"{name}.fr"))
        for name in ("new", "old")
    ]
    both = load_config(
        values={"data": {"corpora": [names[0] | {"weight": 2.0}, names[1] | {"weight": 0.5}]}}
    ).data.corpora
    # 800 + 500 pairs an epoch
    change(run, train_source=None, train_target=None, held_out=0, corpora=both)
    new = "data.corpora=[{source: %(source)s, target: %(target)s}]" % names[0]
    # 400 × 1.3 pairs are 0.4 of 1300
    config = continued_config(run, overrides=[new, "data.held_out=0"], mix=1.3)
    assert [corpus.weight for corpus in config.data.corpora] == [
        1.0,
        pytest.approx(0.8),
        pytest.approx(0.2),
    ]


@pytest.mark.parametrize(
    "overrides, mix, harm, error, message",
    [
        (
            [],
            1.0,
            {},
            UsageError,
            "--mix: expected new text beside that of .*run, got none; name it",
        ),
        (
            None,
            1.0,
            dict(train_source="gone.en"),
            UserError,
            "--mix: .*gone.en: expected the text that .*run was trained on, found no",
        ),
        (
            None,
            1.0,
            dict(PHRASEBOOK, folder=None),
            UsageError,
            "--mix: expected that of .*run to be in text files, got data.corpus=phrasebook",
        ),
        (
            ["data.corpus=phrasebook"],
            1.0,
            {},
            UsageError,
            "--mix: expected the new training text to be in text files, got data.corpus=",
        ),
        (
            ["model.hidden_size=6"],
            None,
            {},
            UsageError,
            "model.hidden_size: expected 5 as in .*run, got 6",
        ),
        (
            ["source.tokenization=space"],
            None,
            {},
            UsageError,
            "source.tokenization: expected moses as in",
        ),
        (
            ["data.batchsize=6"],
            None,
            {},
            UsageError,
            "unknown option data.batchsize; did you mean data.batch_size?",
        ),
        (
            ["data.train_source=a"],
            None,
            {},
            UsageError,
            "data.train_target: expected a text file, got none",
        ),
    ],
)
def test_what_is_refused(run, new, overrides, mix, harm, error, message):
    if harm:
        change(run, **harm)
    with pytest.raises(error, match=message):
        continued_config(run, overrides=new if overrides is None else overrides, mix=mix)


def test_below_is_below_a_preset():
    below = {"model": {"hidden_size": 3}, "data": {"batch_size": 3, "shuffle_buffer": 9}}
    config = load_config(overrides=["preset=paper"], below=below)
    assert (config.model.hidden_size, config.data.batch_size, config.data.shuffle_buffer) == (
        1000,
        80,
        9,
    )
    assert load_config(below={}) == Config()
