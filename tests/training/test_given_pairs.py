"""A training whose pairs are held in Python is that of the same pairs in files."""

import shutil

import keras
import numpy as np
import pytest
from test_driver import LANGUAGE_MODEL, TINY, config, language_model, records

from rnnsearch_tf.config import load_config
from rnnsearch_tf.data.phrasebook import phrasebook
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.training.fit import train
from rnnsearch_tf.translation.loading import load_run

TRAIN = list(zip(*phrasebook(300, "train")))
DEVELOPMENT = list(zip(*phrasebook(20, "development")))
FILES = [setting for setting in TINY if not setting.startswith("data.phrasebook")]
FILES += LANGUAGE_MODEL  # whose graph is traced in no time
FILES += ["data.corpus=files", "training.maximum_updates=3", "training.evaluate_every=3"]


@pytest.mark.slow
def test_pairs_in_python_train_as_the_same_pairs_in_files(tmp_path):
    names = {}
    for part, pairs in (("train", TRAIN), ("development", DEVELOPMENT)):
        for side, lines in zip(("source", "target"), zip(*pairs)):
            names[f"{part}_{side}"] = str(tmp_path / f"{part}.{side}")
            (tmp_path / f"{part}.{side}").write_text("".join(f"{line}\n" for line in lines))
    files = [*FILES, *(f"data.{name}={path}" for name, path in names.items())]
    train(load_config(overrides=files), tmp_path / "files")
    train(
        load_config(overrides=[*FILES, "data.held_out=9"]),  # which is not done
        tmp_path / "given",
        pairs=(pair for pair in TRAIN),
        development=DEVELOPMENT,
    )
    weights = [load_run(tmp_path / name)[0].get_weights() for name in ("files", "given")]
    for expected, found in zip(*weights, strict=True):
        np.testing.assert_array_equal(expected, found)
    given = Run(tmp_path / "given")

    with pytest.raises(UsageError, match="expected --resume alone, got it with .*pairs"):
        train(load_config(given.config), given, resume=True, pairs=TRAIN)
    # also in another place
    copied = shutil.copytree(given.path, tmp_path / "copied")
    more = load_config(copied / "config.yaml", ["training.maximum_updates=4"])
    assert train(more, copied, resume=True)["batches"] == 4
    assert len(records(copied, "development")) == 2


def test_callbacks_of_the_user_see_one_fit(tmp_path):
    """A logger keeps all epochs, a patience lasts from one to the next, and stops the training."""
    logger = keras.callbacks.CSVLogger(tmp_path / "log.csv")
    stopping = keras.callbacks.EarlyStopping("loss", mode="max", patience=2)
    training = language_model("training.epochs=5", "training.optimizer=sgd")
    train(training, tmp_path / "run", callbacks=[logger, stopping])
    rows = (tmp_path / "log.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["epoch", "0", "1", "2"]


def test_text_twice_and_bad_pairs_are_refused(tmp_path):
    plain = load_config(overrides=FILES)
    named = load_config(overrides=[*FILES, "data.train_source=a", "data.train_target=b"])
    with pytest.raises(
        UsageError, match="no text .* beside pairs or development, got data.train_source, data.tr"
    ):
        train(named, tmp_path / "a", pairs=TRAIN)
    with pytest.raises(UsageError, match="got data.corpus=phrasebook; leave one"):
        train(config(), tmp_path / "a", pairs=TRAIN)
    weighted = load_config(overrides=[*FILES, "data.train_weights=[1, 0.5]"])
    with pytest.raises(UsageError, match="got data.train_weights; leave"):
        train(weighted, tmp_path / "b", pairs=TRAIN)
    for side, lines in zip(("source", "target"), zip(*DEVELOPMENT)):
        (tmp_path / side).write_text("".join(f"{line}\n" for line in lines[side == "target" :]))
    unequal = [f"data.development_{side}={tmp_path / side}" for side in ("source", "target")]
    with pytest.raises(UserError, match="expected as many lines as in"):
        train(
            load_config(overrides=[*FILES, *unequal, "training.evaluate_sentences=2"]),
            tmp_path / "d",
            pairs=TRAIN,
        )
    with pytest.raises(UsageError, match="expected .source, target., two strings"):
        train(plain, tmp_path / "c", pairs=["a cat", "un chat"], development=DEVELOPMENT)


def test_a_resumed_training_reads_no_text(tmp_path):
    text = {f"data.train_{side}": tmp_path / side for side in ("source", "target")}
    for path, lines in zip(text.values(), zip(*TRAIN)):
        path.write_text("".join(f"{line}\n" for line in lines))

    def settings(updates):
        own = [f"{name}={path}" for name, path in text.items()]
        limit = f"training.maximum_updates={updates}"
        return load_config(overrides=[*FILES, *own, "data.held_out=20", limit])

    train(settings(1), tmp_path / "run")
    for path in text.values():
        path.unlink()
    assert train(settings(2), tmp_path / "run", resume=True)["batches"] == 2
