"""Work on a batch by several threads, a shard each."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import tensorflow as tf

Item = TypeVar("Item")
Result = TypeVar("Result")
Arrays = TypeVar("Arrays", bound=NamedTuple)


def in_shards(
    count: int,
    work: Callable[[Sequence[Item]], Result],
    items: Sequence[Item],
    size: int,
) -> Iterator[tuple[Sequence[Item], Result]]:
    """Split items into batches, and each batch into shards that are computed by several threads.

    Neighbouring items, which have similar lengths, go to different shards, so that all shards take
    equally long.

    Args:
        count: shards of a batch, and threads.
        work: computes the result of a shard.
        items: a list or array.
        size: items in a batch, at most.

    Returns:
        pairs (shard, its result).
    """
    batches = (items[start : start + size] for start in range(0, len(items), size))
    shards = [batch[first::count] for batch in batches for first in range(min(count, len(batch)))]
    if min(count, len(shards)) <= 1:
        return zip(shards, map(work, shards))
    with concurrent.futures.ThreadPoolExecutor(count) as threads:
        return zip(shards, list(threads.map(work, shards)))


def as_arrays(result: Arrays) -> Arrays:
    """A NamedTuple with NumPy arrays in place of tensors."""
    return tf.nest.map_structure(np.asarray, result)
