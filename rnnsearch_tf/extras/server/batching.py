"""Merges concurrent requests into one call of the graph.

Requests to the same signature of the same version wait in one queue of batches.
A batch is run when it is full, or when its first request has waited long enough
and a thread is free. A full queue refuses: UNAVAILABLE.
"""

from __future__ import annotations

import collections
import concurrent.futures
import dataclasses
import math
import threading
import time

import numpy as np

from rnnsearch_tf.extras.server import merging
from rnnsearch_tf.extras.server.errors import (
    ServingError,
    cancelled_error,
    deadline_exceeded,
    invalid_argument,
    unavailable,
)
from rnnsearch_tf.extras.server.grace import Grace

MOST_PADDED_ELEMENTS = 8 << 20


@dataclasses.dataclass
class Call:
    """A request, or a part of a large one, on its way."""

    inputs: dict
    rows: int
    deadline: float | None
    cancelled: threading.Event | None
    arrived: float = dataclasses.field(default_factory=time.monotonic)
    answer: concurrent.futures.Future = dataclasses.field(default_factory=concurrent.futures.Future)

    def given_up(self) -> ServingError | None:
        """Why nobody waits for the answer any more, if so."""
        if self.cancelled is not None and self.cancelled.is_set():
            return cancelled_error()
        if self.deadline is not None and time.monotonic() >= self.deadline:
            return deadline_exceeded()
        return None


@dataclasses.dataclass(frozen=True)
class Extent:
    """What calls come to when they are merged: rows, and each input's shape after dimension 0."""

    rows: int = 0
    shapes: dict = dataclasses.field(default_factory=dict)

    def joined(self, call) -> Extent:
        shapes = {name: array.shape[1:] for name, array in call.inputs.items()}
        widest = {
            name: tuple(map(max, shape, self.shapes.get(name, shape)))
            for name, shape in shapes.items()
        }
        return Extent(self.rows + call.rows, widest)

    @property
    def elements(self) -> int:
        return self.rows * sum(math.prod(shape) for shape in self.shapes.values())


class Batch:
    """Calls that will be run as one."""

    def __init__(self):
        self.calls = []
        self.extent = Extent()
        self.began = time.monotonic()

    @property
    def rows(self) -> int:
        return self.extent.rows

    def add(self, call):
        self.calls.append(call)
        self.extent = self.extent.joined(call)


class Batcher:
    """The queues and the threads that empty them; one for a whole server.

    Args:
        parameters: Parameters.
        metrics: counters, or None.

    Example:
        batcher.run(servable, "serving_default", {"text": array}, ("translation",), deadline=None)
    """

    def __init__(self, parameters, metrics=None):
        self.parameters = parameters
        self._metrics = metrics
        self._queues = {}  # key → deque of Batch; only queues that have one
        self._changed = threading.Condition()
        self._closed = False
        self._threads = [
            threading.Thread(
                target=self._work, name=f"{parameters.thread_pool_name}-{number}", daemon=True
            )
            for number in range(parameters.num_batch_threads)
        ]
        for thread in self._threads:
            thread.start()

    def run(self, servable, signature, inputs, outputs, deadline=None, cancelled=None):
        """As Servable.run, together with whoever else asks at the moment.

        Raises:
            ServingError: also INVALID_ARGUMENT for too many rows, UNAVAILABLE for a full queue.
        """
        rows = merging.row_count(inputs)
        if rows > self.parameters.max_batch_size:
            raise invalid_argument(
                f"Task size {rows} is larger than maximum input batch size"
                f" {self.parameters.max_batch_size}"
            )
        key = (
            servable,
            signature,
            outputs,
            merging.shape_key(inputs, self.parameters.pad_variable_length_inputs),
        )
        step = self.parameters.run_size
        starts = range(0, max(rows, 1), step)  # one part, unless large requests are split
        parts = [
            {name: array[start : start + step] for name, array in inputs.items()}
            for start in starts
        ]
        calls = [
            Call(part, min(step, rows - start), deadline, cancelled)
            for start, part in zip(starts, parts)
        ]
        self._enqueue(key, calls)
        answers = [_wait(call) for call in calls]
        return (
            answers[0]
            if len(answers) == 1
            else [np.concatenate(arrays) for arrays in zip(*answers)]
        )

    def close(self, timeout=None):
        """Run what has been accepted, then end the threads; what still waits after `timeout`
        seconds (None: never) is refused.
        """
        grace = Grace(timeout)
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(grace.left())
        with self._changed:
            waiting = [
                call for queue in self._queues.values() for batch in queue for call in batch.calls
            ]
            self._queues.clear()
        for call in waiting:
            call.answer.set_exception(unavailable("The server is stopping"))

    def _enqueue(self, key, calls):
        with self._changed:
            if self._closed:
                raise unavailable("The server is stopping")
            queue = self._queues.get(key, collections.deque())
            tail = queue[-1].extent if queue else None
            added = 0
            for call in calls:  # all of them or none
                if tail is None or not self._fits(tail.joined(call)):
                    tail = Extent()
                    added = added + 1
                tail = tail.joined(call)
            if len(queue) + added > self.parameters.max_enqueued_batches:
                raise unavailable(
                    "The batch scheduling queue to which this task was submitted is full"
                )
            for call in calls:
                if not queue or not self._fits(queue[-1].extent.joined(call)):
                    queue.append(Batch())
                queue[-1].add(call)
            self._queues[key] = queue
            self._changed.notify_all()

    def _fits(self, extent) -> bool:
        """Whether calls may be merged to this; one wide request would pad all the others to its
        width.
        """
        padded = self.parameters.pad_variable_length_inputs
        return extent.rows <= self.parameters.run_size and not (
            padded and extent.elements > MOST_PADDED_ELEMENTS
        )

    def _work(self):
        while (taken := self._next_batch()) is not None:
            (servable, signature, outputs, _), batch = taken
            self._run_batch(servable, signature, outputs, batch)

    def _next_batch(self):
        """(key, Batch) once one is ready, the longest waiting first; None when all is done."""
        with self._changed:
            while True:
                heads = sorted(
                    ((queue[0].began, key) for key, queue in self._queues.items()),
                    key=lambda head: head[0],
                )
                for began, key in heads:
                    if self._is_ready(self._queues[key]):
                        queue = self._queues[key]
                        batch = queue.popleft()
                        if not queue:
                            del self._queues[key]
                        return key, batch
                if self._closed and not heads:
                    return None
                self._changed.wait(
                    heads[0][0] + self.parameters.batch_timeout - time.monotonic()
                    if heads
                    else None
                )

    def _is_ready(self, queue) -> bool:
        batch = queue[0]
        full = len(queue) > 1 or batch.rows >= self.parameters.run_size
        return (
            full or self._closed or time.monotonic() >= batch.began + self.parameters.batch_timeout
        )

    def _run_batch(self, servable, signature, outputs, batch):
        now = time.monotonic()
        calls = []
        for call in batch.calls:
            if error := call.given_up():
                call.answer.set_exception(error)
            else:
                calls.append(call)
        if not calls:
            return
        if self._metrics is not None:
            self._metrics.batch(
                self.parameters.thread_pool_name, [now - call.arrived for call in calls]
            )
        try:
            answers = self._run_calls(servable, signature, outputs, calls)
        except ServingError as error:
            if len(calls) == 1:
                calls[0].answer.set_exception(error)
                return
            for call in calls:  # one bad request does not spoil the others
                self._run_batch(servable, signature, outputs, _batch_of(call))
            return
        except Exception as error:  # the last line of defence: nobody may be left waiting
            for call in calls:
                call.answer.set_exception(error)
            return
        for call, answer in zip(calls, answers):
            call.answer.set_result(answer)

    def _run_calls(self, servable, signature, outputs, calls):
        rows = sum(call.rows for call in calls)
        size = (
            next((size for size in self.parameters.allowed_batch_sizes if size >= rows), rows)
            if rows
            else 0
        )
        deadlines = [call.deadline for call in calls]
        timeout = None if None in deadlines else max(deadlines) - time.monotonic()
        results = servable.run(
            signature, merging.merge([call.inputs for call in calls], size), outputs, timeout
        )
        return merging.split(results, [call.rows for call in calls], size)


def _batch_of(call) -> Batch:
    batch = Batch()
    batch.add(call)
    return batch


def _wait(call):
    """The answer, or DEADLINE_EXCEEDED when it comes too late."""
    timeout = None if call.deadline is None else max(0.0, call.deadline - time.monotonic())
    try:
        return call.answer.result(timeout)
    except concurrent.futures.TimeoutError:
        raise deadline_exceeded() from None
