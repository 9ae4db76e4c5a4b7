"""The workers of a training in several processes, from the environment variable TF_CONFIG.

Every process has one JSON object in TensorFlow's format::

    {"cluster": {"worker": ["host-a:2222", "host-b:2222"]}, "task": {"type": "worker", "index": 0}}
"""

from __future__ import annotations

import json
import os
import socket
from typing import Any

from rnnsearch_tf.errors import UsageError

VARIABLE = "TF_CONFIG"

DISTRIBUTIONS = ("mirrored", "multi-worker")
"""Ways to share every batch: between the GPUs of one process, or between processes."""


def worker_variable(index: int, addresses: list[str]) -> str:
    """The value of TF_CONFIG for one worker.

    Example:
        >>> worker_variable(1, ["a:2222", "b:2222"])
        '{"cluster": {"worker": ["a:2222", "b:2222"]}, "task": {"type": "worker", "index": 1}}'
    """
    return json.dumps(
        {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
    )


def free_addresses(count: int) -> list[str]:
    """Addresses of this machine with free ports."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    return addresses


def this_worker() -> tuple[int, list[str]]:
    """(this worker's number, the addresses of all workers) from TF_CONFIG.

    Raises:
        UsageError: TF_CONFIG is not set, or describes anything but a cluster of workers.
    """
    text = os.environ.get(VARIABLE)
    example = worker_variable(0, ["host-a:2222", "host-b:2222"])
    advice = "rnnsearch launch sets it; see docs/guides/distributed.md"
    if not text:
        raise UsageError(
            f"{VARIABLE}: expected the workers of this training, as in {example}, got none;"
            f" {advice}"
        )
    try:
        values: Any = json.loads(text)
        addresses = values["cluster"]["worker"]
        task = values["task"]
        index = task["index"]
        whole = (
            list(values["cluster"]) == ["worker"]
            and task["type"] == "worker"
            and type(index) is int
            and type(addresses) is list
        )
        if not (
            whole
            and all(isinstance(address, str) for address in addresses)
            and 0 <= index < len(addresses)
        ):
            raise ValueError
    except (ValueError, KeyError, TypeError):
        raise UsageError(
            f"{VARIABLE}: expected workers alone, as in {example}, got {text[:300]}; {advice}"
        ) from None
    return index, addresses
