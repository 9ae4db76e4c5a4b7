"""Concurrent requests are merged, and each gets its own rows; what does not fit is refused. The
model here is NumPy.
"""

import concurrent.futures
import threading
import time

import grpc
import numpy as np
import pytest

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.extras.server.batching import Batcher
from rnnsearch_tf.extras.server.batching_parameters import Parameters
from rnnsearch_tf.extras.server.config_protos import BatchingParameters
from rnnsearch_tf.extras.server.errors import ServingError, invalid_argument

LONG = 20.0  # seconds nothing here may need


class Doubler:
    """y = 2x; remembers its calls, waits for `gate`, refuses a batch with a negative number."""

    def __init__(self):
        self.calls = []
        self.timeouts = []
        self.gate, self.entered = threading.Event(), threading.Event()
        self.gate.set()

    def run(self, signature, inputs, outputs, timeout=None):
        self.calls.append(inputs["x"].copy())
        self.timeouts.append(timeout)
        self.entered.set()
        assert self.gate.wait(LONG)
        if (inputs["x"] < 0).any():
            raise invalid_argument("negative")
        return [inputs["x"] * 2]


@pytest.fixture
def batching():
    """batching(**parameters) → (Batcher, Doubler, ask); ask(x) is a future of the answer to x."""
    opened = []
    pool = concurrent.futures.ThreadPoolExecutor(16)

    def make(**parameters):
        batcher = Batcher(Parameters(**{"num_batch_threads": 1} | parameters))
        model = Doubler()
        opened.append((batcher, model))

        def ask(x, signature="s", **options):
            return pool.submit(
                lambda: batcher.run(model, signature, {"x": np.asarray(x)}, ("y",), **options)[0]
            )

        return batcher, model, ask

    yield make
    for batcher, model in opened:
        model.gate.set()
        batcher.close()
    pool.shutdown()


def held(model, ask):
    """Occupies the only thread: what is asked from now on waits in the queue."""
    model.gate.clear()
    first = ask([0.5])
    assert model.entered.wait(LONG)
    return first


def wait_until(condition):
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def waiting(batcher, requests):
    """Wait until this number of requests is in the queues."""
    wait_until(
        lambda: (
            sum(
                len(batch.calls)
                for queue in list(batcher._queues.values())
                for batch in list(queue)
            )
            == requests
        )
    )


def refused(future):
    with pytest.raises(ServingError) as caught:
        future.result(LONG)
    return caught.value.code, caught.value.message


def test_what_waits_is_merged_and_each_gets_its_own_rows(batching):
    batcher, model, ask = batching()
    first = held(model, ask)
    answers = [ask(np.full(rows, rows, float)) for rows in (1, 2, 3, 4)]
    waiting(batcher, 4)
    model.gate.set()
    for rows, answer in zip((1, 2, 3, 4), answers):
        np.testing.assert_array_equal(answer.result(LONG), np.full(rows, 2.0 * rows))
    assert first.result(LONG) == [1.0]
    assert [len(call) for call in model.calls] == [1, 10]


def test_a_full_batch_does_not_wait(batching):
    _, model, ask = batching(max_batch_size=2, batch_timeout=LONG)
    answers = [ask([1.0]), ask([2.0])]
    assert [answer.result(LONG / 2).tolist() for answer in answers] == [[2.0], [4.0]]
    assert len(model.calls) == 1


def test_a_batch_waits_for_company_only_so_long(batching):
    _, model, ask = batching(max_batch_size=100, batch_timeout=0.05)
    start = time.monotonic()
    ask([1.0]).result(LONG)
    assert 0.05 <= time.monotonic() - start < LONG / 2


def test_other_signatures_and_widths_are_other_batches(batching):
    batcher, model, ask = batching()
    held(model, ask)
    answers = [ask([1.0]), ask([2.0], signature="t"), ask([[1.0, 2.0]]), ask([[1.0, 2.0, 3.0]])]
    waiting(batcher, 4)
    model.gate.set()
    assert [answer.result(LONG).tolist() for answer in answers] == [
        [2.0],
        [4.0],
        [[2.0, 4.0]],
        [[2.0, 4.0, 6.0]],
    ]
    assert len(model.calls) == 5


def test_a_wide_request_does_not_widen_all_the_others(batching):
    """1,000 rows, padded to 100,000 columns for the sake of one, would take 0.8 GB."""
    batcher, model, ask = batching(pad_variable_length_inputs=True, max_batch_size=1001)
    first = held(model, ask)
    wide = ask(np.ones([1, 100_000]))
    waiting(batcher, 1)
    narrow = [ask(np.full([100, 1], number)) for number in range(10)]
    waiting(batcher, 11)
    model.gate.set()
    first.result(LONG)
    assert wide.result(LONG).shape == (1, 100_000)
    assert [float(answer.result(LONG)[0, 0]) for answer in narrow] == [
        2.0 * number for number in range(10)
    ]
    assert max(call.size for call in model.calls) <= 8 << 20


def test_padding_fills_with_the_first_element(batching):
    batcher, model, ask = batching(pad_variable_length_inputs=True)
    held(model, ask)
    answers = [ask([[7.0, 2.0]]), ask([[1.0, 2.0, 3.0]])]
    waiting(batcher, 2)
    model.gate.set()
    assert answers[0].result(LONG).tolist() == [[14.0, 4.0, 14.0]]
    assert answers[1].result(LONG).tolist() == [[2.0, 4.0, 6.0]]
    assert len(model.calls) == 2


def test_a_full_queue_is_unavailable_and_recovers(batching):
    batcher, model, ask = batching(max_batch_size=2, max_enqueued_batches=2)
    held(model, ask)
    accepted = []
    for number in range(4):  # two batches of two
        accepted.append(ask([float(number)]))
        waiting(batcher, number + 1)
    code, message = refused(ask([9.0]))
    assert (code, "queue" in message) == (grpc.StatusCode.UNAVAILABLE, True)
    model.gate.set()
    assert [answer.result(LONG)[0] for answer in accepted] == [0.0, 2.0, 4.0, 6.0]
    assert ask([9.0]).result(LONG) == [18.0]


def test_a_request_whose_deadline_has_passed_is_not_run(batching):
    batcher, model, ask = batching()
    held(model, ask)
    late = ask([5.0], deadline=time.monotonic() + 0.05)
    assert refused(late)[0] is grpc.StatusCode.DEADLINE_EXCEEDED
    model.gate.set()
    assert ask([6.0]).result(LONG) == [12.0]
    assert not any(5.0 in call for call in model.calls)


def test_a_caller_that_has_gone_is_not_run(batching):
    batcher, model, ask = batching()
    held(model, ask)
    gone = threading.Event()
    answer = ask([5.0], cancelled=gone)
    waiting(batcher, 1)
    gone.set()
    model.gate.set()
    assert refused(answer)[0] is grpc.StatusCode.CANCELLED
    assert not any(5.0 in call for call in model.calls)


def test_a_batch_may_take_as_long_as_its_most_patient_request(batching):
    batcher, model, ask = batching()
    held(model, ask)
    answers = [ask([1.0], deadline=time.monotonic() + seconds) for seconds in (10, 100)]
    waiting(batcher, 2)
    model.gate.set()
    [answer.result(LONG) for answer in answers]
    assert 90 < model.timeouts[-1] <= 100
    assert model.timeouts[0] is None


def test_a_bad_request_does_not_spoil_its_neighbours(batching):
    batcher, model, ask = batching()
    held(model, ask)
    answers = [ask([1.0]), ask([-1.0]), ask([3.0])]
    waiting(batcher, 3)
    model.gate.set()
    assert (answers[0].result(LONG), answers[2].result(LONG)) == ([2.0], [6.0])
    assert refused(answers[1]) == (grpc.StatusCode.INVALID_ARGUMENT, "negative")


@pytest.mark.parametrize(
    "x, message",
    [
        (1.0, "at least one dimension"),
        (np.zeros(5), "Task size 5 is larger than maximum input batch size 4"),
    ],
    ids=["scalar", "too-many-rows"],
)
def test_what_cannot_be_batched(batching, x, message):
    code, said = refused(batching(max_batch_size=4)[2](x))
    assert (code, message in said) == (grpc.StatusCode.INVALID_ARGUMENT, True)


def test_inputs_of_unequal_rows(batching):
    batcher, model, _ = batching()
    with pytest.raises(ServingError, match="equal 0th-dimension size"):
        batcher.run(model, "s", {"x": np.zeros(2), "z": np.zeros(3)}, ("y",))


def test_no_rows_are_an_answer_of_no_rows(batching):
    assert batching()[2](np.zeros((0,))).result(LONG).shape == (0,)


def test_large_requests_are_split_and_put_together(batching):
    _, model, ask = batching(max_batch_size=10, max_execution_batch_size=4)
    np.testing.assert_array_equal(ask(np.arange(10.0)).result(LONG), 2 * np.arange(10.0))
    assert [len(call) for call in model.calls] == [4, 4, 2]


def test_a_batch_of_exactly_an_allowed_size_is_left_as_it_is(batching):
    _, model, ask = batching(max_batch_size=8, allowed_batch_sizes=(2, 8))
    for rows in (2, 8):
        assert len(ask(np.ones([rows])).result(LONG)) == rows
    assert [len(call) for call in model.calls] == [2, 8]


def test_allowed_sizes_are_filled_up_to(batching):
    _, model, ask = batching(max_batch_size=8, allowed_batch_sizes=(2, 8))
    assert ask([1.0, 2.0, 3.0]).result(LONG).tolist() == [2.0, 4.0, 6.0]
    assert [len(call) for call in model.calls] == [8]


def test_an_output_without_a_row_for_each_is_an_error(batching):
    batcher, model, ask = batching()
    model.run = lambda signature, inputs, outputs, timeout=None: [np.zeros(7)]
    assert refused(ask([1.0]))[0] is grpc.StatusCode.FAILED_PRECONDITION


def test_closing_finishes_what_was_accepted(batching):
    batcher, model, ask = batching(batch_timeout=LONG)
    answers = [ask([1.0]), ask([2.0])]
    waiting(batcher, 2)
    batcher.close()
    assert [answer.result(LONG).tolist() for answer in answers] == [[2.0], [4.0]]
    assert refused(ask([3.0]))[0] is grpc.StatusCode.UNAVAILABLE


def message(**fields):
    result = BatchingParameters(allowed_batch_sizes=fields.pop("allowed_batch_sizes", ()))
    for name, value in fields.items():
        getattr(result, name).value = value
    return result


def test_parameters_of_a_file():
    read = Parameters.of(
        message(max_batch_size=64, batch_timeout_micros=5000, allowed_batch_sizes=[8, 64]), "f"
    )
    assert (
        read.max_batch_size,
        read.batch_timeout,
        read.allowed_batch_sizes,
        read.max_enqueued_batches,
    ) == (64, 0.005, (8, 64), 10)
    split = Parameters.of(
        message(max_batch_size=64, enable_large_batch_splitting=True, max_execution_batch_size=16),
        "f",
    )
    assert (split.max_batch_size, split.run_size) == (64, 16)


@pytest.mark.parametrize(
    "fields, said",
    [
        ({"max_batch_size": 0}, "max_batch_size: expected at least 1, got 0"),
        (
            {"batch_timeout_micros": -1},
            "batch_timeout_micros: expected a number from 0 to 86400000000, got -1",
        ),
        (
            {"batch_timeout_micros": 2**63 - 1},
            (
                "batch_timeout_micros: expected a number from 0 to 86400000000, got"
                " 9223372036854775807"
            ),
        ),
        (
            {"enable_large_batch_splitting": True, "max_execution_batch_size": -4},
            "max_execution_batch_size: expected a number from 1 to max_batch_size, 1000, got -4",
        ),
        (
            {
                "enable_large_batch_splitting": True,
                "max_batch_size": 9,
                "max_execution_batch_size": 10,
            },
            "expected a number from 1 to max_batch_size, 9, got 10",
        ),
        (
            {"max_batch_size": 9, "allowed_batch_sizes": [4, 8]},
            "end with the largest batch, 9, got 4, 8",
        ),
        ({"max_batch_size": 8, "allowed_batch_sizes": [8, 4, 8]}, "increasing"),
    ],
    ids=["size", "timeout", "long", "negative", "larger", "last", "order"],
)
def test_wrong_parameters(fields, said):
    with pytest.raises(UserError, match=said):
        Parameters.of(message(**fields), "batching.config")
