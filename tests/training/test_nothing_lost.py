"""A training that is killed and resumed is the one that never was: weights, optimizer, metrics and
files, to the last bit.
"""

import collections
import io
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
import zipfile

import h5py
import numpy as np
import pytest
import tensorflow as tf
from killed import LANGUAGE_MODEL as SMALL
from killed import SETTINGS

from rnnsearch_tf.cli.main import run as rnnsearch
from rnnsearch_tf.config import load_config
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.data.dataset import training_dataset
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.text.pipeline import build_texts, load_text
from rnnsearch_tf.text.vocabulary import Vocabulary
from rnnsearch_tf.training import fit as driver
from rnnsearch_tf.training.bad_batch import name_batch
from rnnsearch_tf.training.callbacks import Limits
from rnnsearch_tf.training.development import Development
from rnnsearch_tf.training.fit import train

PROGRAM = pathlib.Path(__file__).parents[1] / "killed.py"


def trained(folder, *words, **environment):
    """Run killed.py; what it printed, as a list of dictionaries."""
    environment = {**os.environ, **environment}
    done = subprocess.run(
        [sys.executable, PROGRAM, folder, *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=3000,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def arrays(file):
    """{name: array} of an .h5 file."""
    found = {}
    with h5py.File(file) as content:
        content.visititems(
            lambda name, item: (
                found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None
            )
        )
    return found


def everything(run):
    """All that a RUN says, times aside: {name: value}."""
    found = {}
    timed = ("minutes", "target_tokens_per_second")
    state = json.loads((run / "checkpoints" / "state.json").read_text())
    with zipfile.ZipFile(run / "checkpoints" / state["model"]) as archive:
        found |= {
            f"saved {name}": array
            for name, array in arrays(io.BytesIO(archive.read("model.weights.h5"))).items()
        }
    found["state"] = {
        key: value
        for key, value in state.items()
        if key not in ("seconds", "model", "model_sha256", "sha256", "metrics_bytes")
    }
    for path in [run / "best" / "model.weights.h5", *sorted((run / "evaluated").iterdir())]:
        found |= {f"{path.name} {name}": array for name, array in arrays(path).items()}
    records = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    found["metrics"] = [
        {key: value for key, value in record.items() if key not in timed} for record in records
    ]
    found["checksums"] = [line.split()[1] for line in (run / "SHA256SUMS").read_text().splitlines()]
    assert not list(run.rglob("partial-*")), "half-written files"
    return found


def assert_same(one, other):
    one = everything(one)
    other = everything(other)
    assert one.keys() == other.keys()
    for name in one:
        same = (
            np.array_equal(one[name], other[name])
            if isinstance(one[name], np.ndarray)
            else one[name] == other[name]
        )
        assert same, f"{name}: {one[name]} is not {other[name]}"


@pytest.mark.slow
def test_two_kills(tmp_path):
    """In the middle of an evaluation, and of a checkpoint in the middle of an epoch."""
    trained(tmp_path, "whole", "killed=evaluate:1,save:5", "--", *SMALL)
    assert len(everything(tmp_path / "whole")["metrics"]) > 6
    assert_same(tmp_path / "whole", tmp_path / "killed")


FILES = [
    "data.corpus=files",
    *(
        setting
        for setting in SETTINGS
        if "phrasebook" not in setting
        and setting.partition("=")[0] not in ("training.evaluate_sentences", "training.average")
    ),
]
"""SETTINGS for text files without a development text."""

RNNSEARCH = ["model.alignment_size=5", "model.maxout_size=4", "model.output_rank=null"]
TWO_SHARDS = [
    *RNNSEARCH,
    "data.batch_size=32",
    "data.phrasebook_size=200",
    "training.deterministic=true",
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings, threads, kills",
    [(SMALL, 1, 20), (RNNSEARCH, 1, 7), (TWO_SHARDS, 2, 7)],
    ids=["cslm", "rnnsearch", "two threads"],
)
def test_kills_at_random_moments(tmp_path, settings, threads, kills):
    """Each kill in a training of its own; the last seven with the shards of a batch at the same
    time, under deterministic operations.

    Another seed every day; RNNSEARCH_SEED=… gives those of another day again.
    """
    seed = int(os.environ.get("RNNSEARCH_SEED", time.strftime("%Y%m%d")))
    print(f"RNNSEARCH_SEED={seed}")  # pytest shows it where the test fails
    threads = dict(TF_NUM_INTRAOP_THREADS="1", TF_NUM_INTEROP_THREADS=str(threads))
    generator = random.Random(seed)
    [whole] = trained(tmp_path, "whole", "--", *settings, **threads)
    moments = [generator.uniform(0.1, whole["seconds"]) for _ in range(kills)]
    trained(
        tmp_path,
        *(f"killed{number}={moment:.2f}" for number, moment in enumerate(moments)),
        "--",
        *settings,
        **threads,
    )
    for number, moment in enumerate(moments):
        try:
            assert_same(tmp_path / "whole", tmp_path / f"killed{number}")
        except AssertionError as error:
            raise AssertionError(
                f"killed after {moment:.2f} s (RNNSEARCH_SEED={seed}): {error}"
            ) from None


@pytest.mark.slow
def test_kills_between_files(tmp_path):
    """Before the first, the fourth, … file takes its place: configuration, vocabularies,
    checkpoints, weights, checksums.
    """
    trained(
        tmp_path,
        "whole",
        f"killed={','.join(f'replace:{number}' for number in range(1, 24, 3))}",
        "--",
        *SMALL,
    )
    assert_same(tmp_path / "whole", tmp_path / "killed")


@pytest.fixture
def stop(monkeypatch):
    """stop(owner, attribute, number): SIGTERM comes in the middle of that call, once."""

    def arrange(owner, attribute, number=1):
        left = [number]
        called = getattr(owner, attribute)

        def watched(*arguments, **keywords):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGTERM)
            return called(*arguments, **keywords)

        monkeypatch.setattr(owner, attribute, watched)

    return arrange


PHASES = {  # (where SIGTERM comes, in which call of it, batches that are saved then)
    "vocabularies": (driver, "build_corpus_texts", 1, None),
    "graph of an update": (TranslationModel, "_sharded_losses", 1, 0),
    "update": (Limits, "on_train_batch_end", 3, 3),
    "checkpoint": (TranslationModel, "save", 1, 4),
    "development loss": (Development, "_development_loss", 1, 8),
    "average": (Development, "_average", 1, 24),
}


@pytest.mark.parametrize(
    "phases", [["update"], pytest.param(list(PHASES), marks=pytest.mark.slow)], ids=["one", "all"]
)
def test_sigterm_in_a_phase(tmp_path, stop, monkeypatch, capsys, phases):
    """Exit code 75 each time; if nothing was saved yet the same command starts anew, else --resume
    continues; nothing is lost.
    """
    settings = [word for setting in [*SETTINGS, *SMALL] for word in ("--set", setting)]
    (tmp_path / "c.yaml").write_text("")
    command = ["train", "--config", str(tmp_path / "c.yaml"), *settings, "--output"]
    assert rnnsearch([*command, str(tmp_path / "whole")]) == 0
    run = tmp_path / "stopped"
    handler = signal.getsignal(signal.SIGTERM)
    for phase in phases:
        owner, attribute, number, batches = PHASES[phase]
        with monkeypatch.context():
            stop(owner, attribute, number)
            assert (
                rnnsearch(
                    [
                        *command,
                        str(run),
                        *(["--resume"] if Run(run).state.exists() and batches != 0 else []),
                    ]
                )
                == 75
            ), attribute
            monkeypatch.undo()
        said = capsys.readouterr().err
        assert "stopped by SIGTERM" in said and "Traceback" not in said
        assert (
            json.loads(Run(run).state.read_text())["batches"] if batches is not None else None
        ) == batches, attribute
        assert signal.getsignal(signal.SIGTERM) == handler
    assert rnnsearch([*command, str(run), "--resume"]) == 0
    assert_same(tmp_path / "whole", run)


@pytest.mark.parametrize("held_out", [0, 5])
def test_the_lines_of_a_batch_are_named_in_each_of_several_files(tmp_path, held_out):
    lines = {
        f"{tmp_path}/{name}.{side}": [f"the word {side}{name}{number}" for number in range(40)]
        for name in "ab"
        for side in "st"
    }
    for path, texts in lines.items():
        pathlib.Path(path).write_text("".join(f"{text}\n" for text in texts))
    config = load_config(
        overrides=[
            *FILES,
            f"data.train_source={tmp_path}/?.s",
            f"data.train_target={tmp_path}/?.t",
            f"data.held_out={held_out}",
        ]
    )
    pairs = open_corpus(config)
    texts = build_texts(config, pairs.lines())
    batch = next(iter(training_dataset(*texts, pairs, config.data, 1)))
    where = name_batch(batch, texts, pairs, tmp_path / "refused")
    found = [line.split("\t") for line in (tmp_path / "refused").read_text().splitlines()]
    assert len(found) == len(batch["source_ids"])
    for place, source, target in found:
        path, _, number = place.rpartition(":")
        assert lines[path][int(number) - 1] == source
        assert lines[f"{path[:-1]}t"][int(number) - 1] == target
    assert [part.partition(", line")[0] for part in where.split("; ")] == [
        f"{tmp_path}/{name}.s and {tmp_path}/{name}.t" for name in "ab"
    ]


@pytest.mark.slow
def test_a_batch_that_is_not_finite_is_named_and_left_out(tmp_path, monkeypatch):
    """Its lines in both files; tried again it is refused again; without it training continues as
    under non_finite_gradient: skip.
    """
    lines = [f"the word w{number % 7} and w{number % 5}" for number in range(60)]
    lines[41] = "the poison w1 and w1"
    for name in "st":
        (tmp_path / name).write_text("".join(line + "\n" for line in lines))
    settings = [
        *FILES,
        *SMALL,
        f"data.train_source={tmp_path / 's'}",
        f"data.train_target={tmp_path / 't'}",
        "model.embedding_dropout=0",
        "training.epochs=1",
        "training.average=0",
    ]
    losses = TranslationModel.token_losses
    words = Vocabulary.build(collections.Counter(" ".join(lines).split()), 100)
    batches = []
    poison = words.tokens.index("poison")

    def poisoned(model, inputs, *arguments, **options):
        bad = tf.reduce_any(inputs["target_ids"] == poison)
        return tuple(
            tf.where(bad, float("nan"), values)
            for values in losses(model, inputs, *arguments, **options)
        )

    monkeypatch.setattr(TranslationModel, "token_losses", poisoned)
    config = load_config(overrides=settings)
    for resume in (False, True):
        with pytest.raises(
            UserError, match="expected a finite gradient, got norm nan in batch"
        ) as raised:
            train(config, tmp_path / "run", resume=resume)
        batches.append(
            json.loads((tmp_path / "run" / "checkpoints" / "state.json").read_text())["batches"]
        )
    assert batches[0] == batches[1]

    texts = [
        load_text(tmp_path / "run", side, getattr(config, side)) for side in ("source", "target")
    ]
    epoch = training_dataset(*texts, open_corpus(config), config.data, config.training.seed)
    [(number, batch)] = [
        (number, batch)
        for number, batch in enumerate(epoch)
        if (batch["target_ids"].numpy() == poison).any()
    ]
    in_batch = {
        text.decode() for text in texts[1].decode(tf.constant(batch["target_ids"].numpy())).numpy()
    }
    expected = [number for number, line in enumerate(lines, start=1) if line in in_batch]
    assert number == batches[0] and 42 in expected
    assert (
        f"of {tmp_path / 's'} and {tmp_path / 't'}, lines {', '.join(map(str, expected))} (with"
        in str(raised.value)
    )
    assert f"--output {tmp_path / 'run'} --resume --skip-batch" in str(raised.value)
    listed = (tmp_path / "run" / "refused_batch.txt").read_text().splitlines()
    assert listed == [
        f"{tmp_path / 's'}:{number}\t{lines[number - 1]}\t{lines[number - 1]}"
        for number in expected
    ]

    assert train(config, tmp_path / "run", resume=True, skip_batch=True)["batches"] == sum(
        1 for _ in epoch
    )
    train(
        load_config(overrides=[*settings, "training.non_finite_gradient=skip"]),
        tmp_path / "skipping",
    )
    for one, other in zip(
        *(
            arrays(tmp_path / name / "best" / "model.weights.h5").values()
            for name in ("run", "skipping")
        )
    ):
        assert np.array_equal(one, other)
    with pytest.raises(
        UserError,
        match=(
            "expected a training that stopped at a batch, got one that did not; leave"
            " --skip-batch out"
        ),
    ):
        train(config, tmp_path / "run", resume=True, skip_batch=True)


def test_a_time_limit_is_refused_where_all_is_to_be_the_same():
    with pytest.raises(
        UsageError,
        match="training.deterministic: expected no training.maximum_minutes beside it, got 3.0",
    ):
        load_config(overrides=["training.deterministic=true", "training.maximum_minutes=3"])


@pytest.mark.slow
def test_every_epoch_has_all_its_batches(tmp_path):
    """Also where pairs are drawn, so that some epochs have more than the first (Keras's own fit
    would cut them).
    """
    for name in "st":
        (tmp_path / name).write_text(
            "".join(f"w{number % 7} w{number % 5}\n" for number in range(60))
        )
    corpora = f"data.corpora=[{{source: {tmp_path / 's'}, target: {tmp_path / 't'}, weight: 0.3}}]"
    config = load_config(
        overrides=[*FILES, *SMALL, corpora, "data.batch_size=2", "training.seed=10"]
    )
    train(config, tmp_path / "run")
    texts = [
        load_text(tmp_path / "run", side, getattr(config, side)) for side in ("source", "target")
    ]
    batches = [
        sum(
            1
            for _ in training_dataset(
                *texts, open_corpus(config), config.data, config.training.seed, epoch
            )
        )
        for epoch in range(3)
    ]
    assert max(batches) > batches[0] + 1, "choose another seed"
    records = map(json.loads, (tmp_path / "run" / "metrics.jsonl").read_text().splitlines())
    ends = [record["batches"] for record in records if record["kind"] == "epoch"]
    assert ends == np.cumsum(batches).tolist()
