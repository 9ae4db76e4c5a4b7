"""A training whose pairs are held in Python is that of the same pairs in files."""

import json
import shutil

import keras
import numpy as np
import pytest
from test_driver import LANGUAGE_MODEL, TINY, config, language_model

from rnnsearch_tf.config import load_config
from rnnsearch_tf.data.phrasebook import phrasebook
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.training.fit import train
from rnnsearch_tf.translation.loading import load_run

TRAIN = list(zip(*phrasebook(300, "train")))
DEVELOPMENT = list(zip(*phrasebook(20, "development")))
FILES = [setting for setting in TINY if not setting.startswith("data.phrasebook")]
FILES += LANGUAGE_MODEL  # whose graph is traced in no time
FILES += ["data.corpus=files", "training.maximum_updates=3", "training.evaluate_every=3"]


class Counting(keras.callbacks.Callback):
    batches = 0
    models = 0

    def set_model(self, model):
        super().set_model(model)
        self.models += 1

    def on_train_batch_end(self, batch, logs=None):
        self.batches += 1


@pytest.mark.slow
def test_pairs_in_python_train_as_the_same_pairs_in_files(tmp_path):
    names = {}
    for part, pairs in (("train", TRAIN), ("development", DEVELOPMENT)):
        for side, lines in zip(("source", "target"), zip(*pairs)):
            names[f"{part}_{side}"] = str(tmp_path / f"{part}.{side}")
            (tmp_path / f"{part}.{side}").write_text("".join(f"{line}\n" for line in lines))
    files = [*FILES, *(f"data.{name}={path}" for name, path in names.items())]
    train(load_config(overrides=files), tmp_path / "files")
    counting = Counting()
    summary = train(
        load_config(overrides=FILES),
        tmp_path / "given",
        pairs=(pair for pair in TRAIN),
        development=DEVELOPMENT,
        callbacks=counting,
    )
    assert counting.batches == 3 and summary["batches"] == 3
    weights = [load_run(tmp_path / name)[0].get_weights() for name in ("files", "given")]
    for expected, found in zip(*weights, strict=True):
        np.testing.assert_array_equal(expected, found)
    given = Run(tmp_path / "given")

    with pytest.raises(UsageError, match="expected resume or pairs, got both; .*given has the pai"):
        train(load_config(given.config), given, resume=True, pairs=TRAIN)
    more = load_config(given.config, ["training.maximum_updates=4"])
    assert train(more, given, resume=True)["batches"] == 4
    # also in another place, and with the configuration that it was started with
    copied = shutil.copytree(given.path, tmp_path / "copied")
    same = load_config(overrides=[*FILES, "training.maximum_updates=5"])
    assert train(same, copied, resume=True)["batches"] == 5
    records = (copied / "metrics.jsonl").read_text().splitlines()
    assert sum('"development"' in record for record in records) == 3
    with pytest.raises(UsageError, match="data.train_source: expected a text file, got none"):
        train(load_config(overrides=[*FILES, "data.maximum_length=9"]), copied, resume=True)


def test_the_epochs_are_one_fit_of_the_callbacks(tmp_path):
    """A logger keeps all epochs, and a patience lasts from one to the next."""
    calls = []
    told = keras.callbacks.LambdaCallback(
        on_train_begin=lambda logs: calls.append("begin"),
        on_epoch_end=lambda epoch, logs: calls.append(epoch),
        on_train_end=lambda logs: calls.append(sorted(logs)[:2]),
    )
    counting = Counting()
    logger = keras.callbacks.CSVLogger(tmp_path / "log.csv")
    stopping = keras.callbacks.EarlyStopping("loss", mode="max", patience=2)
    training = language_model("training.epochs=5", "training.optimizer=sgd")
    train(training, tmp_path / "run", callbacks=[told, counting, logger, stopping])
    assert calls == ["begin", 0, 1, 2, ["gradient_norm", "loss"]]
    assert counting.models == 1  # TensorBoard opens files for each
    rows = (tmp_path / "log.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["epoch", "0", "1", "2"]


@pytest.mark.parametrize(
    "callbacks, message",
    [
        (["early_stopping"], "train: expected callbacks of Keras, got 'early_stopping'; make"),
        (keras.callbacks.ReduceLROnPlateau("loss"), "no ReduceLROnPlateau.* training.schedule"),
        (
            [keras.callbacks.LearningRateScheduler(lambda epoch: 0.1)],
            "no LearningRateScheduler.* training.schedule",
        ),
        (
            [keras.callbacks.BackupAndRestore("backup")],
            "expected no BackupAndRestore among the callbacks, got one; .* resume=True",
        ),
        (keras.callbacks.SwapEMAWeights(), "expected no SwapEMAWeights .* training.average"),
        (
            [keras.callbacks.EarlyStopping("loss", restore_best_weights=True)],
            "expected EarlyStopping without restore_best_weights, got it; .*RUN/best",
        ),
    ],
)
def test_callbacks_that_a_training_cannot_obey(tmp_path, callbacks, message):
    with pytest.raises(UsageError, match=message):
        train(config(), tmp_path / "run", callbacks=callbacks)
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_given_development_pairs_take_the_place_of_held_out_ones(tmp_path, untranslated):
    """The options of evaluation stay, which are reset where no development text is named."""
    options = ["training.patience=7", "training.evaluate_sentences=3", "training.average=2"]
    held_out = load_config(overrides=[*FILES, "data.held_out=1", *options])
    train(held_out, tmp_path / "run", pairs=TRAIN, development=DEVELOPMENT)
    kept = load_config(tmp_path / "run" / "config.yaml")
    assert kept.data.held_out == 0
    lines = Run(tmp_path / "run").development.read_text().splitlines()
    assert [tuple(json.loads(line)) for line in lines] == DEVELOPMENT
    more = [*FILES, "data.held_out=1", *options, "training.maximum_updates=4"]
    train(load_config(overrides=more), tmp_path / "run", resume=True)
    settings = kept.training
    assert (settings.patience, settings.evaluate_sentences, settings.average) == (7, 3, 2)


def test_text_twice_and_bad_pairs_are_refused(tmp_path):
    plain = load_config(overrides=FILES)
    named = load_config(overrides=[*FILES, "data.train_source=a", "data.train_target=b"])
    with pytest.raises(
        UsageError, match="no text .* beside pairs or development, got data.train_source, data.tr"
    ):
        train(named, tmp_path / "a", pairs=TRAIN)
    with pytest.raises(UsageError, match="got data.corpus=phrasebook; leave one"):
        train(config(), tmp_path / "a", pairs=TRAIN)
    with pytest.raises(UsageError, match="expected .source, target., two strings"):
        train(plain, tmp_path / "c", pairs=["a cat", "un chat"], development=DEVELOPMENT)


def test_a_resumed_training_reads_no_text_and_trainings_share_their_ids(tmp_path):
    for side, lines in zip(("source", "target"), zip(*TRAIN)):
        (tmp_path / side).write_text("".join(f"{line}\n" for line in lines))
    text = [f"data.train_{side}={tmp_path / side}" for side in ("source", "target")]

    def settings(updates, *more):
        limit = f"training.maximum_updates={updates}"
        return load_config(overrides=[*FILES, *text, "data.held_out=20", limit, *more])

    cache = f"data.cache={tmp_path / 'cache'}"
    for name in ("one", "other"):
        train(settings(1, cache), tmp_path / name)
        assert len(list((tmp_path / "cache").iterdir())) == 1
        assert not Run(tmp_path / name).ids.exists()
    train(settings(1), tmp_path / "own")
    for side in ("source", "target"):
        (tmp_path / side).unlink()
    assert train(settings(2), tmp_path / "own", resume=True)["batches"] == 2
