"""For all tests: one thread a process, since the suite runs several processes; and no search for
garbage in what was imported.
"""

import gc
import os

import pytest

for variable in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


def pytest_collection_finish():
    """What TensorFlow, Keras and the test files hold stays to the end: to look through it for
    garbage again and again takes a tenth of the time.
    """
    _keep_what_lives()
    gc.set_threshold(20_000, 20, 1_000_000)


@pytest.fixture(autouse=True, scope="module")
def collected():
    """The graphs of a file are freed after it, what lives on is not looked through again."""
    yield
    _keep_what_lives()


def _keep_what_lives():
    gc.collect()
    gc.freeze()
