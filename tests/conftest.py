"""For all tests: one thread a process, since the suite runs several processes; and no search for
garbage in what was imported.
"""

import gc
import os

for variable in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


def pytest_collection_finish():
    """What TensorFlow, Keras and the test files hold stays to the end: to look through it for
    garbage again and again takes a tenth of the time. Old graphs are not searched either, which
    takes half a minute at once; a process grows to 3.2 GB.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 1_000_000)
