"""A tiny RUN and its export, made once for all processes of the suite."""

import fcntl

import pytest
from tiny_run import write_run

NBEST = 3
TARGET_LIMIT = 150  # not the source's, which is 200
TEMPERATURE = 0.5


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
    """Path of a RUN with random weights. About half of the words it writes are unknown ones."""
    return once(
        tmp_path_factory, "exported_run", lambda folder: write_run(folder, unknown_words=6.0)
    )


@pytest.fixture(scope="session")
def exported(run_folder, tmp_path_factory):
    """Path of version 1 of its export, every signature in it; the export has checked itself."""
    from rnnsearch_tf.export.writer import export_model

    def make(folder):
        export_model(
            run_folder,
            folder,
            overrides=[
                "search.replace_unknown=true",
                f"nbest={NBEST}",
                f"maximum_target_length={TARGET_LIMIT}",
                f"temperature={TEMPERATURE}",
            ],
        )

    return once(tmp_path_factory, "exported", make) / "1"


@pytest.fixture(scope="session")
def session(exported):
    """The export in a v1 session of this process."""
    from rnnsearch_tf.export.session import SessionModel

    return SessionModel(exported)


@pytest.fixture(scope="session")
def translator(run_folder):
    from rnnsearch_tf.translation import Translator

    return Translator.load(run_folder)
