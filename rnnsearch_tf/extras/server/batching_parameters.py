"""How concurrent requests are merged: the content of --batching_parameters_file, checked."""

from __future__ import annotations

import dataclasses
import os

from rnnsearch_tf.errors import UserError

LONGEST_TIMEOUT = 86_400
"""Seconds."""


@dataclasses.dataclass(frozen=True)
class Parameters:
    """What BatchingParameters say; the defaults are tensorflow_model_server's.

    Attributes:
        max_batch_size: most rows of a request, and of a batch unless large requests are split.
        batch_timeout: seconds that a batch waits to be filled.
        max_enqueued_batches: batches waiting in a queue; more are refused.
        num_batch_threads: batches run at once.
        allowed_batch_sizes: sizes a batch is filled up to, in increasing order; none: any.
        max_execution_batch_size: most rows of a batch where large requests are split.
    """

    max_batch_size: int = 1000
    batch_timeout: float = 0.0
    max_enqueued_batches: int = 10
    num_batch_threads: int = os.cpu_count() or 1
    thread_pool_name: str = "batch_threads"
    allowed_batch_sizes: tuple = ()
    pad_variable_length_inputs: bool = False
    max_execution_batch_size: int | None = None

    @property
    def run_size(self) -> int:
        """Most rows of a batch."""
        return self.max_execution_batch_size or self.max_batch_size

    @classmethod
    def of(cls, message, where) -> Parameters:
        """From a BatchingParameters message; `where` is the file, for errors.

        Raises:
            UserError: a number is too small or too large, or allowed sizes do not end with the
                largest batch.
        """
        names = ("max_batch_size", "max_enqueued_batches", "num_batch_threads", "thread_pool_name")
        given = {name: getattr(message, name).value for name in names if message.HasField(name)}
        given |= {"allowed_batch_sizes": tuple(message.allowed_batch_sizes)}
        given |= {"pad_variable_length_inputs": message.pad_variable_length_inputs}
        if message.HasField("batch_timeout_micros"):
            given["batch_timeout"] = message.batch_timeout_micros.value / 1e6
        if message.enable_large_batch_splitting.value:
            largest = message.max_execution_batch_size.value or given.get(
                "max_batch_size", cls.max_batch_size
            )
            given["max_execution_batch_size"] = largest
        parameters = cls(**given)
        for name in names[:3]:
            if getattr(parameters, name) < 1:
                raise UserError(
                    f"{where}: {name}: expected at least 1, got {getattr(parameters, name)}"
                )
        if not 0 <= parameters.batch_timeout <= LONGEST_TIMEOUT:
            raise UserError(
                f"{where}: batch_timeout_micros: expected a number from 0 to"
                f" {LONGEST_TIMEOUT * 1_000_000}, got {message.batch_timeout_micros.value}"
            )
        if not 1 <= parameters.run_size <= parameters.max_batch_size:
            raise UserError(
                f"{where}: max_execution_batch_size: expected a number from 1 to max_batch_size,"
                f" {parameters.max_batch_size}, got {parameters.run_size}"
            )
        sizes = parameters.allowed_batch_sizes
        if sizes and (
            list(sizes) != sorted(set(sizes)) or sizes[0] < 1 or sizes[-1] != parameters.run_size
        ):
            raise UserError(
                f"{where}: allowed_batch_sizes: expected increasing sizes that end with the largest"
                f" batch, {parameters.run_size}, got {', '.join(map(str, sizes))}"
            )
        return parameters
