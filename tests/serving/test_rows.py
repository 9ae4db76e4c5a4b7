"""Rows of one request, and of all that run at once: who waits, who is refused, and that nobody is
passed by.
"""

import threading
import time

import numpy as np
import pytest
from tensorflow.core.framework.tensor_pb2 import TensorProto

from rnnsearch_tf.extras.server import rows
from rnnsearch_tf.extras.server.errors import ServingError

SOON = 10


def proto(*sizes):
    result = TensorProto()
    for size in sizes:
        result.tensor_shape.dim.add(size=size)
    return result


@pytest.mark.parametrize(
    "inputs, expected",
    [
        ({}, 1),
        ({"x": proto()}, 1),
        ({"x": proto(7)}, 7),
        ({"x": proto(2, 9), "y": proto(3)}, 3),
        ({"x": proto(-5)}, 1),
        ({"x": proto(0)}, 1),
        ({"x": np.zeros((4, 0))}, 4),
        ({"x": np.zeros(()), "y": proto(2**62)}, 2**62),
    ],
)
def test_rows_are_counted_by_the_shapes(inputs, expected):
    assert rows.count(inputs) == expected


def test_more_than_the_limit_is_refused():
    limited = rows.Rows(3)
    limited.check(3)
    with pytest.raises(
        ServingError,
        match="INVALID_ARGUMENT: expected at most 3 rows in a request, got 4; .*--max_request_rows",
    ):
        limited.check(4)


def waiting(limited, count, order):
    """A thread that wants rows, notes when it has them, and gives them back; it is in the queue
    when this returns.
    """

    def run():
        with limited.running(count):
            order.append(count)

    before = len(limited._waiting)
    thread = threading.Thread(target=run)
    thread.start()
    end = time.monotonic() + SOON
    while len(limited._waiting) == before and not order and time.monotonic() < end:
        time.sleep(0.001)
    return thread


def test_what_does_not_fit_waits_and_is_not_passed_by():
    limited = rows.Rows(4)
    order = []
    with limited.running(2):
        threads = [waiting(limited, 4, order)]
        threads.append(waiting(limited, 1, order))  # there would be room for it
        time.sleep(0.05)
        assert order == []
    for thread in threads:
        thread.join(SOON)
    assert order == [4, 1]


def test_what_fits_runs_beside():
    limited = rows.Rows(4)
    order = []
    with limited.running(3):
        waiting(limited, 1, order).join(SOON)
        assert order == [1]


def test_nobody_waits_longer_than_the_caller():
    limited = rows.Rows(1)
    gone = threading.Event()
    gone.set()
    with limited.running(1):
        started = time.monotonic()
        with (
            pytest.raises(ServingError, match="DEADLINE_EXCEEDED"),
            limited.running(1, deadline=started + 0.05),
        ):
            raise AssertionError("it ran")
        with pytest.raises(ServingError, match="CANCELLED"), limited.running(1, cancelled=gone):
            raise AssertionError("it ran")
        assert time.monotonic() - started < SOON
    # those that gave up left nothing behind
    with limited.running(1, deadline=time.monotonic() + SOON):
        pass


def test_a_run_that_fails_gives_its_rows_back():
    limited = rows.Rows(1)
    with pytest.raises(ZeroDivisionError), limited.running(1):
        raise ZeroDivisionError
    with limited.running(1, deadline=time.monotonic() + SOON):
        pass
