"""For all tests: one thread a process, since the suite runs several processes; where real text lies."""

import os
import pathlib

import pytest

for variable in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


@pytest.fixture(scope="session")
def shared_data():
    """Folder of the real parallel text, or a skip where it is absent."""
    root = os.environ.get("RNNSEARCH_SHARED") or pathlib.Path(__file__).parents[2] / "shared"
    folder = pathlib.Path(root) / "data"
    if not folder.is_dir():
        pytest.skip(f"real parallel text is not at {folder}; set RNNSEARCH_SHARED to its parent")
    return folder
