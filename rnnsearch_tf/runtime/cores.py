"""Sharing the work of a small model between the cores of a machine.

TensorFlow spreads every operation over all cores. Most operations of a small model are too short
for that. It is then faster to give each operation one core and each core a shard of the batch:
inter-op in place of intra-op threads. :func:`use_one_thread_per_op` sets that up. TensorFlow
accepts it only before its first operation; the command line calls it, a notebook may. Training and
search follow TensorFlow's settings, whoever made them (TF_NUM_INTRAOP_THREADS=1 has the same
effect).
"""

from __future__ import annotations

import itertools
import os

import tensorflow as tf

LARGEST_HIDDEN_SIZE = 256
"""``hidden_size`` up to which one thread per operation is faster: at 256 it was, at 512 not
(benchmarks/RESULTS.md, two cores).
"""

SMALLEST_SHARD = 16
"""Sentences that each core should have at least."""


def use_one_thread_per_op(models, batch_size, cores=None):
    """Run each operation on one core, and as many operations at once as there are cores, where that
    is faster.

    Nothing changes for a model of more than LARGEST_HIDDEN_SIZE units, for batches of fewer than
    SMALLEST_SHARD sentences per core, on one core, with a GPU, where a number of threads was set
    before, or once TensorFlow has started.

    Args:
        models: list of ModelConfig: the model, or the members of an ensemble.
        batch_size: int, sentences that are computed at once.
        cores: int; None: all that this process may use.

    Returns:
        bool: whether the setting was made.
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


def shard_count():
    """Shards to compute at once: one per core where an operation has one thread, otherwise 1."""
    if _intra_op_threads() != 1 or tf.config.list_physical_devices("GPU"):
        return 1
    return _inter_op_threads() or available_cores()


def training_shards(batch_size):
    """Shards of a training batch: :func:`shard_count`, but at least SMALLEST_SHARD sentences in
    each.
    """
    return max(1, min(shard_count(), batch_size // SMALLEST_SHARD))


def split_batch(inputs, shards):
    """Shards of consecutive sentences, equal in size but for one sentence.

    Args:
        inputs: dictionary of tensors [B, ...].
        shards: int.

    Returns:
        list of dictionaries with the same names.
    """
    size = tf.shape(next(iter(inputs.values())))[0]
    cuts = [size * shard // shards for shard in range(shards + 1)]
    return [
        {name: values[begin:end] for name, values in inputs.items()}
        for begin, end in itertools.pairwise(cuts)
    ]


def _intra_op_threads():
    """Threads of an operation that TensorFlow was told to use; 0: nothing was said."""
    return tf.config.threading.get_intra_op_parallelism_threads() or _from_environment(
        "TF_NUM_INTRAOP_THREADS"
    )


def _inter_op_threads():
    """Operations at once that TensorFlow was told to run; 0: nothing was said."""
    return tf.config.threading.get_inter_op_parallelism_threads() or _from_environment(
        "TF_NUM_INTEROP_THREADS"
    )


def _from_environment(variable):
    text = os.environ.get(variable, "")
    return int(text) if text.isdecimal() else 0


def available_cores():
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
