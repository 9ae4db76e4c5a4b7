"""Requests that wait are merged, and each gets its own rows. The model is NumPy here; in the last
tests it is served.
"""

import concurrent.futures
import os
import threading
import time

import grpc
import numpy as np
import pytest
from toy_calls import Toy, decoded, refusal, wait_until
from toy_model import Gate

from rnnsearch_tf.extras.server import batching as module
from rnnsearch_tf.extras.server.batching import MOST_ROWS, RUNNERS, Batcher
from rnnsearch_tf.extras.server.errors import ServingError, invalid_argument

LONG = 20.0  # seconds nothing here may need


class Doubler:
    """y = 2x; remembers its calls, waits for `gate`, refuses a batch with a negative number."""

    def __init__(self):
        self.calls = []
        self.ends = []
        self.gate, self.entered = threading.Event(), threading.Event()
        self.gate.set()

    def run(self, signature, inputs, outputs, end):
        self.calls.append(inputs["x"].copy())
        self.ends.append(end)
        self.entered.set()
        assert self.gate.wait(LONG)
        if (inputs["x"] < 0).any():
            raise invalid_argument("negative")
        return [inputs["x"] * 2]


@pytest.fixture
def batching():
    """batching(model) → (Batcher, model, ask); ask(x) is a future of the answer to x. One call of
    the model runs at a time.
    """
    opened = []
    pool = concurrent.futures.ThreadPoolExecutor(16)

    def make(model=None):
        model = model or Doubler()
        batcher = Batcher(model.run, runners=1)
        opened.append(model)

        def ask(x, signature="s", seconds=LONG):
            x = np.asarray(x)
            end = time.monotonic() + seconds
            return pool.submit(lambda: batcher.run(signature, {"x": x}, ("y",), end)[0])

        return batcher, model, ask

    yield make
    for model in opened:
        model.gate.set()
    pool.shutdown()


def held(model, ask):
    """Occupies the only runner: what is asked from now on waits."""
    model.gate.clear()
    first = ask([0.5])
    assert model.entered.wait(LONG)
    return first


def waiting(batcher, requests):
    """Wait until this number of requests waits."""
    wait_until(lambda: len(batcher._waiting) == requests)


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


def test_a_request_does_not_wait_for_company(batching):
    _, model, ask = batching()
    assert ask([1.0]).result(LONG) == [2.0]
    assert ask([3.0]).result(LONG) == [6.0]
    assert len(model.calls) == 2


def test_two_calls_of_the_model_run_at_once():
    model = Doubler()
    batcher = Batcher(model.run)
    model.gate.clear()
    with concurrent.futures.ThreadPoolExecutor(RUNNERS) as pool:
        end = time.monotonic() + LONG
        for number in range(RUNNERS):
            pool.submit(batcher.run, "s", {"x": np.ones(1)}, ("y",), end)
            wait_until(lambda: len(model.calls) == number + 1)
        model.gate.set()


class Two(Doubler):
    """Calls that begin with 8 wait for the event `eight`, those with 1 for `one`."""

    def __init__(self):
        super().__init__()
        self.eight, self.one = threading.Event(), threading.Event()

    def run(self, signature, inputs, outputs, end):
        values = super().run(signature, inputs, outputs, end)
        event = {8.0: self.eight, 1.0: self.one}.get(inputs["x"][0])
        assert event is None or event.wait(LONG)
        return values


@pytest.mark.parametrize(("rows", "share"), [(1, 6), (8, 9)])
def test_a_runner_takes_its_share(rows, share):
    """Ten rows wait while another runner computes `rows`: half of both together, rounded up."""
    model = Two()
    batcher = Batcher(model.run)
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        end = time.monotonic() + LONG
        for number, x in enumerate([np.full(rows, 8.0), np.ones(1), *[np.full(1, 2.0)] * 10]):
            pool.submit(batcher.run, "s", {"x": x}, ("y",), end)
            if number < RUNNERS:
                wait_until(lambda: len(model.calls) == number + 1)
        waiting(batcher, 10)
        model.one.set()
        try:
            wait_until(lambda: len(model.calls) > RUNNERS)
            assert len(model.calls[RUNNERS]) == share
        finally:
            model.eight.set()


def test_a_runner_waits_for_the_clients_of_a_merged_call(batching, monkeypatch):
    """Whose next requests come one after the other."""
    monkeypatch.setattr(module, "GATHER_SECONDS", LONG)
    batcher, model, ask = batching()
    held(model, ask)
    answers = [ask([1.0]) for _ in range(3)]
    waiting(batcher, 3)
    model.gate.set()
    [answer.result(LONG) for answer in answers]
    answers = [ask([2.0]), ask([3.0])]
    waiting(batcher, 2)
    answers.append(ask([4.0]))
    assert [answer.result(LONG) for answer in answers] == [[4.0], [6.0], [8.0]]
    assert [len(call) for call in model.calls] == [1, 3, 3]


def test_a_merged_call_has_no_more_rows_than_it_may(batching):
    """Those that fit go with the first; those that do not come next."""
    batcher, model, ask = batching()
    held(model, ask)
    sizes = 40, 40, 10, MOST_ROWS - 40 - 10, 1
    answers = []
    for number, size in enumerate(sizes):
        answers.append(ask(np.full(size, number, float)))
        waiting(batcher, number + 1)
    model.gate.set()
    for number, (size, answer) in enumerate(zip(sizes, answers)):
        np.testing.assert_array_equal(answer.result(LONG), np.full(size, 2.0 * number))
    assert [len(call) for call in model.calls] == [1, MOST_ROWS, 41]


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


def test_a_request_whose_deadline_has_passed_is_not_run(batching):
    batcher, model, ask = batching()
    held(model, ask)
    late = ask([5.0], seconds=0.05)
    # said at once, not when the runner is free
    assert refused(late)[0] is grpc.StatusCode.DEADLINE_EXCEEDED
    model.gate.set()
    assert ask([6.0]).result(LONG) == [12.0]
    assert not any(5.0 in call for call in model.calls)


def test_a_late_request_of_a_failed_batch_is_not_run_again(batching):
    class Slow(Doubler):
        def run(self, signature, inputs, outputs, end):
            if len(inputs["x"]) > 1:
                time.sleep(1.0)
            return super().run(signature, inputs, outputs, end)

    batcher, model, ask = batching(Slow())
    held(model, ask)
    late = ask([5.0], seconds=0.6)
    waiting(batcher, 1)
    bad = ask([-1.0])
    waiting(batcher, 2)
    model.gate.set()
    assert refused(late)[0] is grpc.StatusCode.DEADLINE_EXCEEDED
    assert refused(bad)[1] == "negative"
    assert [call.tolist() for call in model.calls[1:]] == [[5.0, -1.0], [-1.0]]


def test_a_batch_may_take_as_long_as_its_most_patient_request(batching):
    batcher, model, ask = batching()
    held(model, ask)
    now = time.monotonic()
    answers = [ask([1.0], seconds=seconds) for seconds in (10, 100)]
    waiting(batcher, 2)
    model.gate.set()
    [answer.result(LONG) for answer in answers]
    assert len(model.calls) == 2 and 100 <= model.ends[-1] - now < 100 + LONG


def test_the_impatient_one_of_a_batch_is_told_when_its_time_is_over(batching):
    """The server would end the process of a request that goes on after its deadline."""

    class Slow(Doubler):
        second = threading.Event()

        def run(self, signature, inputs, outputs, end):
            values = super().run(signature, inputs, outputs, end)
            assert len(self.calls) == 1 or self.second.wait(LONG)
            return values

    batcher, model, ask = batching(Slow())
    held(model, ask)
    hurried, patient = ask([1.0], seconds=1), ask([2.0])
    waiting(batcher, 2)
    model.gate.set()
    assert refused(hurried)[0] is grpc.StatusCode.DEADLINE_EXCEEDED
    assert len(model.calls[1]) == 2 and not patient.done()
    model.second.set()
    assert patient.result(LONG) == [4.0]


def test_one_that_runs_alone_is_not_given_up_before_its_run_has_ended(batching):
    """So that the server sees that the run does not end."""
    _, model, ask = batching()
    model.gate.clear()
    stuck = ask([1.0], seconds=0.05)
    assert model.entered.wait(LONG)
    with pytest.raises(concurrent.futures.TimeoutError):
        stuck.result(0.5)
    model.gate.set()
    assert stuck.result(LONG) == [2.0]


def test_a_bad_request_does_not_spoil_its_neighbours(batching):
    batcher, model, ask = batching()
    held(model, ask)
    answers = [ask([1.0]), ask([-1.0]), ask([3.0])]
    waiting(batcher, 3)
    model.gate.set()
    assert (answers[0].result(LONG), answers[2].result(LONG)) == ([2.0], [6.0])
    assert refused(answers[1]) == (grpc.StatusCode.INVALID_ARGUMENT, "negative")
    assert ask([4.0]).result(LONG) == [8.0]


def test_a_fault_of_the_model_ends_no_runner(batching):
    batcher, model, ask = batching()
    first = held(model, ask)
    run = model.run
    batcher._run = lambda *words: 1 / 0
    answers = [ask([1.0]), ask([2.0])]
    waiting(batcher, 2)
    model.gate.set()
    first.result(LONG)
    for answer in answers:
        with pytest.raises(ZeroDivisionError):
            answer.result(LONG)
    batcher._run = run
    assert ask([4.0]).result(LONG) == [8.0]


@pytest.mark.parametrize(
    "x",
    [np.float64(1.0), np.zeros(0), np.zeros([0, 3]), np.ones(MOST_ROWS + 1), np.ones(100)],
    ids=str,
)
def test_what_cannot_be_merged_runs_alone_at_once(batching, x):
    _, model, ask = batching()
    first = held(model, ask)
    model.entered.clear()
    answer = ask(x)
    assert model.entered.wait(LONG)  # although the only runner is at work
    assert model.calls[-1].shape == np.shape(x)
    model.gate.set()
    np.testing.assert_array_equal(answer.result(LONG), 2 * x)
    assert first.result(LONG) == [1.0]


def test_as_many_large_requests_run_alone_as_there_are_runners():
    """Whatever number comes at once: each takes its memory. One that waits too long is said."""
    gate = threading.Event()
    running = []
    most = []
    one = threading.Lock()

    def run(signature, inputs, outputs, end):
        with one:
            running.append(inputs)
            most.append(len(running))
        assert gate.wait(LONG)
        with one:
            running.pop()
        return [np.zeros(100)]

    batcher = Batcher(run, 2)
    inputs = {"x": np.ones(100)}

    def ask(seconds):
        return batcher.run("s", inputs, ("y",), time.monotonic() + seconds)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(ask, LONG) for _ in range(7)]
        end = time.monotonic() + LONG
        while len(running) < 2 and time.monotonic() < end:
            time.sleep(0.001)
        with pytest.raises(ServingError) as refused:
            ask(0.05)
        assert refused.value.code is grpc.StatusCode.DEADLINE_EXCEEDED
        gate.set()
        assert all(len(answer.result(LONG)[0]) == 100 for answer in answers)
    assert max(most) == 2 and len(most) == 7


def test_a_full_batch_waits_for_a_runner(batching):
    batcher, model, ask = batching()
    first = held(model, ask)
    answer = ask(np.ones(MOST_ROWS))
    waiting(batcher, 1)
    model.gate.set()
    np.testing.assert_array_equal(answer.result(LONG), 2 * np.ones(MOST_ROWS))
    assert first.result(LONG) == [1.0]


def test_inputs_of_unequal_rows_run_alone():
    seen = []

    def run(signature, inputs, outputs, end):
        seen.append({name: len(array) for name, array in inputs.items()})
        return [np.zeros(1)]

    Batcher(run).run("s", {"x": np.zeros(2), "z": np.zeros(3)}, ("y",), time.monotonic() + LONG)
    assert seen == [{"x": 2, "z": 3}]


def test_outputs_without_a_row_for_each_are_computed_one_by_one(batching):
    """They cannot be told apart in a merged call."""

    class Counter(Doubler):
        def run(self, signature, inputs, outputs, end):
            super().run(signature, inputs, outputs, end)
            return [np.array([len(inputs["x"])])]

    batcher, model, ask = batching(Counter())
    held(model, ask)
    answers = [ask([1.0, 1.0]), ask([2.0, 2.0, 2.0])]
    waiting(batcher, 2)
    model.gate.set()
    assert [answer.result(LONG).tolist() for answer in answers] == [[2], [3]]


# ---- served ----


@pytest.fixture
def toy(served, toy_base):
    """A Toy of a server that merges requests."""
    with Toy(f"127.0.0.1:{served(toy_base, enable_batching=True).grpc_port}") as toy:
        yield toy


def blocked(toy, folder):
    """Occupies all runners, and returns (gate that frees them, the calls)."""
    gates = [Gate(folder, f"gate{number}") for number in range(RUNNERS)]
    calls = []
    for gate in gates:
        calls.append(toy.begin("gate", path=[gate.path]))
        gate.wait_until_entered()
    return gates, calls


def test_concurrent_requests_share_a_call_and_each_gets_its_own_rows(toy, tmp_path):
    gates, running = blocked(toy, tmp_path)
    merged = [toy.begin("rows", x=[1.0] * rows) for rows in (1, 2, 3)]
    texts = [
        toy.begin("serving_default", text=[f"{word}{row}" for row in range(rows)])
        for word, rows in (("a", 1), ("b", 2), ("c", 3))
    ]
    bad = toy.begin("refuse", x=[-1.0])
    good = toy.begin("refuse", x=[1.0])
    # requests of one connection arrive in order, so all wait when this one has been refused
    assert refusal(toy.predict, "no such signature", x=[1.0])[0] == "FAILED_PRECONDITION"
    time.sleep(0.1)  # for the threads of those before it
    assert not any(call.done() for call in (*merged, *texts, bad, good))
    for gate in gates:
        gate.open()
    assert [decoded(call.result(LONG))["rows"].tolist() for call in merged] == [
        [6],
        [6, 6],
        [6, 6, 6],
    ]
    for call, word, rows in zip(texts, "abc", (1, 2, 3)):
        assert decoded(call.result(LONG))["translation"].tolist() == [
            f"v2:{word}{row}".encode() for row in range(rows)
        ]
    assert bad.exception(LONG).code() is grpc.StatusCode.INVALID_ARGUMENT
    assert decoded(good.result(LONG))["y"].tolist() == [1.0]
    for call in running:
        call.result(LONG)


def test_a_kernel_that_does_not_end_does_not_stop_the_merged_calls_of_others(toy, tmp_path):
    fifo = str(tmp_path / "fifo")
    os.mkfifo(fifo)
    stuck = [toy.begin("block", timeout=0.2, path=[fifo]) for _ in range(RUNNERS)]
    for call in stuck:
        assert call.exception(LONG).code() is grpc.StatusCode.DEADLINE_EXCEEDED
    wait_until(lambda: answered(toy))


def answered(toy):
    try:
        return toy.predict("half_plus", timeout=2, x=[2.0])["y"].tolist() == [4.0]
    except grpc.RpcError as error:
        assert error.code().name in ("UNAVAILABLE", "DEADLINE_EXCEEDED")
        return False
