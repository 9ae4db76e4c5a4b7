"""Merges the requests that wait into one call of the model.

A request runs at once while a runner is free; those that come meanwhile wait, and the next free
runner takes its share of them. So batches grow with the load, and no request waits for a batch to
fill. Only a runner that has answered several requests at once waits for a moment, because their
clients ask again at the same time. tensorflow_model_server always waits for a set time
(`batch_timeout_micros`).
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import threading
import time
from typing import Any

import numpy as np

from rnnsearch_tf.extras.server.errors import (
    ServingError,
    deadline_exceeded,
    invalid_argument,
)

RUNNERS = 2
MOST_ROWS = 64
"""Of a merged call: the rows that the exported graphs compute at once."""

GATHER_SECONDS = 0.005
"""How long a runner waits for as many requests as it has answered at once."""


@dataclasses.dataclass(eq=False)
class Waiting:
    """A waiting request. Requests of equal `key` may be merged; the merged call is stopped at
    `until`.
    """

    key: tuple
    inputs: dict[str, np.ndarray]
    rows: int
    end: float
    until: float = float("inf")
    outputs: concurrent.futures.Future = dataclasses.field(
        default_factory=concurrent.futures.Future
    )


class Batcher:
    """Threads that run a model on the requests of many threads.

    Args:
        run: Servable.run.
        runners: calls of the model at once.
    """

    def __init__(self, run: Any, runners: int = RUNNERS):
        self._run = run
        self._runners = runners
        self._running = 0  # rows
        self._waiting: list[Waiting] = []
        self._alone = threading.Semaphore(runners)
        self._changed = threading.Condition()
        for _ in range(runners):
            threading.Thread(target=self._work, daemon=True).start()

    def run(self, signature: str, inputs: dict, outputs: tuple, end: float) -> list[np.ndarray]:
        """What Servable.run does, together with others; what cannot be merged runs alone: inputs
        without rows or with unequal numbers of them, and more rows than a merged call may have. As
        many run alone at once as there are runners, to save memory.
        """
        counts = {array.shape[0] if array.ndim else None for array in inputs.values()}
        rows = counts.pop() if len(counts) == 1 else None
        if not rows or rows > MOST_ROWS:
            if not self._alone.acquire(timeout=max(0.0, end - time.monotonic())):
                raise deadline_exceeded()
            try:
                return self._run(signature, inputs, outputs, end)
            finally:
                self._alone.release()
        shapes = tuple(array.shape[1:] for array in inputs.values())
        request = Waiting((signature, outputs, shapes), inputs, rows, end)
        with self._changed:
            self._waiting.append(request)
            self._changed.notify()
        try:
            return request.outputs.result(max(0.0, end - time.monotonic()))
        except concurrent.futures.TimeoutError:
            if request.until > end:  # it waits, or those it was merged with may take longer
                with self._changed:
                    if request in self._waiting:
                        self._waiting.remove(request)
                raise deadline_exceeded() from None
            return request.outputs.result()

    def _work(self) -> None:
        answered = 1
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                if answered > 1:
                    self._changed.wait_for(lambda: len(self._waiting) >= answered, GATHER_SECONDS)
                batch = self._take()
                rows = sum(request.rows for request in batch)
                self._running += rows
            answered = len(batch)
            self._answer(batch)
            with self._changed:
                self._running -= rows

    def _take(self) -> list[Waiting]:
        """The request that has waited for the longest, and those that fit to it, up to a runner's
        share of all that wait or run.
        """
        batch: list[Waiting] = []
        known = self._running + sum(request.rows for request in self._waiting)
        most = min(MOST_ROWS, -(-known // self._runners))
        rows = 0
        for request in list(self._waiting):
            fits = not batch or (request.key == batch[0].key and rows + request.rows <= most)
            if fits:
                batch.append(request)
                rows += request.rows
                self._waiting.remove(request)
        return batch

    def _answer(self, batch: list[Waiting]) -> None:
        for request in [request for request in batch if request.end <= time.monotonic()]:
            request.outputs.set_exception(deadline_exceeded())
            batch.remove(request)
        if not batch:
            return
        until = max(request.end for request in batch)
        for request in batch:
            request.until = until
        signature, outputs, _ = batch[0].key
        names = batch[0].inputs
        try:
            inputs = {name: np.concatenate([each.inputs[name] for each in batch]) for name in names}
            values = self._run(signature, inputs, outputs, until)
            parts = _split(values, [each.rows for each in batch])
        except ServingError as error:
            if len(batch) == 1:
                batch[0].outputs.set_exception(error)
            else:  # one that fails must not spoil the others
                for request in batch:
                    self._answer([request])
            return
        except BaseException as error:
            for request in batch:
                request.outputs.set_exception(error)
            return
        for request, part in zip(batch, parts):
            request.outputs.set_result(part)


def _split(values: list[np.ndarray], rows: list[int]) -> list[list[np.ndarray]]:
    """The outputs of each request of a merged call."""
    if len(rows) == 1:
        return [values]
    ends = np.cumsum(rows)
    if any(value.ndim == 0 or len(value) != ends[-1] for value in values):
        raise invalid_argument("cannot batch: an output does not have a row for each input row")
    return list(zip(*(np.split(value, ends[:-1]) for value in values)))
