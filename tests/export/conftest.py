"""A tiny run and its export, made once for all processes of the suite."""

import fcntl

import pytest
from tiny_run import write_run

NBEST = 2  # of a beam of 3
LIMIT = 150


def once(tmp_path_factory, name, make):
    """The folder of this name, made by the first process that asks."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if base.name.startswith("popen-") else base) / name
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            make(folder)
    return folder


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory):
    """Path of a run with random weights. Some of the words it writes are unknown ones."""
    return once(
        tmp_path_factory,
        "exported_run",
        lambda folder: write_run(folder, ["target.lowercase=true"], unknown_words=8.0),
    )


@pytest.fixture(scope="session")
def exported(run_folder, tmp_path_factory):
    """Path of version 1 of its export, with every signature."""
    from rnnsearch_tf.export.writer import export_model

    def make(folder):
        overrides = [
            "signatures=[translate, nbest, score, sample]",
            "search.replace_unknown=true",
            f"nbest={NBEST}",
            f"maximum_length={LIMIT}",
        ]
        export_model(run_folder, folder, overrides=overrides)

    return once(tmp_path_factory, "exported", make) / "1"


@pytest.fixture(scope="session")
def session(exported):
    """The export in a TF1 session of this process."""
    from rnnsearch_tf.export.saved_model import SavedModel

    return SavedModel(exported)


@pytest.fixture(scope="session")
def translator(run_folder):
    """The model in Python, with the search and the limits of its export."""
    from rnnsearch_tf.translation import Translator

    translator = Translator.load(run_folder, ["search.replace_unknown=true"])
    translator.maximum_length = LIMIT
    return translator
