"""Share the work of a small model between the cores of a machine.

TensorFlow spreads every operation over all cores. Most operations of a small model are too short
for that. It is then faster to give each operation one core and each core a shard of the batch:
inter-op instead of intra-op threads. :func:`use_one_thread_per_op` sets that up. TensorFlow accepts
it only before its first operation. The command line calls it; a notebook may call it too. Training
and search follow TensorFlow's settings, however they were made (TF_NUM_INTRAOP_THREADS=1 has the
same effect).
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping
from typing import Any

import tensorflow as tf

LARGEST_HIDDEN_SIZE = 256
"""Largest ``hidden_size`` for which one thread per operation is used: it is faster at 256 but not
at 512 (benchmarks/RESULTS.md, two cores).
"""

SMALLEST_SHARD = 16
"""Fewest sentences that each core should get."""


def use_one_thread_per_op(models: Iterable[Any], batch_size: int, cores: int | None = None) -> bool:
    """Run each operation on one core, and as many operations at once as there are cores, if that
    is faster.

    It does nothing if a model has more than LARGEST_HIDDEN_SIZE units, a batch has fewer than
    SMALLEST_SHARD sentences per core, there is one core only or a GPU, the number of threads has
    been set before, or TensorFlow has started.

    Args:
        models: ModelConfigs: that of the model, or those of the members of an ensemble.
        batch_size: sentences that are computed at once.
        cores: number of cores; None: all that this process may use.

    Returns:
        Whether it changed the setting.
    """
    cores = cores or available_cores()
    already_set = _intra_op_threads() or _inter_op_threads()
    large = max(model.hidden_size for model in models) > LARGEST_HIDDEN_SIZE
    if (
        already_set
        or large
        or cores == 1
        or batch_size < SMALLEST_SHARD * cores
        or tf.config.list_physical_devices("GPU")
    ):
        return False
    try:
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(cores)
    except RuntimeError:  # TensorFlow has started
        return False
    return True


def shard_count() -> int:
    """Shards to compute at once: one per core if an operation has one thread, otherwise 1."""
    if _intra_op_threads() != 1 or tf.config.list_physical_devices("GPU"):
        return 1
    return _inter_op_threads() or available_cores()


def training_shards(batch_size: int) -> int:
    """Shards of a training batch: :func:`shard_count`, but with at least SMALLEST_SHARD sentences
    each.
    """
    return max(1, min(shard_count(), batch_size // SMALLEST_SHARD))


def split_batch(inputs: Mapping[str, tf.Tensor], shards: int) -> list[dict[str, tf.Tensor]]:
    """Cut a batch into shards of consecutive sentences, whose sizes differ by one at most.

    Args:
        inputs: tensors [B, ...] by name.
        shards: how many.

    Returns:
        One dictionary with the same names for each shard.
    """
    size = tf.shape(next(iter(inputs.values())))[0]
    cuts = [size * shard // shards for shard in range(shards + 1)]
    return [
        {name: values[begin:end] for name, values in inputs.items()}
        for begin, end in itertools.pairwise(cuts)
    ]


def _intra_op_threads() -> int:
    """TensorFlow's setting of the threads of one operation; 0: not set."""
    return tf.config.threading.get_intra_op_parallelism_threads() or _from_environment(
        "TF_NUM_INTRAOP_THREADS"
    )


def _inter_op_threads() -> int:
    """TensorFlow's setting of the operations that run at once; 0: not set."""
    return tf.config.threading.get_inter_op_parallelism_threads() or _from_environment(
        "TF_NUM_INTEROP_THREADS"
    )


def _from_environment(variable: str) -> int:
    text = os.environ.get(variable, "")
    return int(text) if text.isdecimal() else 0


def available_cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
