"""How the cores of a machine share the work of a small model.

TensorFlow spreads every operation over all cores. Most operations of a small model are over before a second core has
begun. There it is faster to give an operation one core, and each core a part of the batch: inter-op in place of
intra-op threads. :func:`arrange` tells TensorFlow so, which it takes before its first operation only; the command line
calls it, a notebook may. Training and search follow what TensorFlow was told, by whomever
(TF_NUM_INTRAOP_THREADS=1 does it too): see :func:`workers`.
"""

import os

import tensorflow as tf

SMALL = 256
"""``hidden_size`` up to which it is faster: at 256 it was, at 512 it was not (benchmarks/RESULTS.md, on two cores)."""

LEAST = 16
"""Sentences that :func:`arrange` leaves for each core."""


def arrange(models, batch_size, cores=None):
    """Give each operation one core, where that is faster and TensorFlow has been told nothing else.

    Nothing is changed for a model with more than SMALL hidden units, for batches of fewer than LEAST sentences a core, on one core,
    with a GPU, where a number of threads was set before, or when TensorFlow is at work already.

    Args:
        models: list of ModelConfig: those that work together.
        batch_size: int, sentences that are computed at once.
        cores: int; None: all that this process may use.

    Returns:
        bool: whether it was done.
    """
    cores = cores or _cores()
    told = _intra_op() or _inter_op()
    small = max(model.hidden_size for model in models) <= SMALL
    if told or not small or cores == 1 or batch_size < LEAST * cores or tf.config.list_physical_devices("GPU"):
        return False
    try:
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(cores)
    except RuntimeError:  # it has begun
        return False
    return True


def workers():
    """Parts of a batch to compute at once: a core each, where an operation has one core and there are several; otherwise 1."""
    if _intra_op() != 1 or tf.config.list_physical_devices("GPU"):
        return 1
    return _inter_op() or _cores()


def parts(batch_size):
    """Parts of a training's batches: :func:`workers`, but LEAST sentences in each."""
    return max(1, min(workers(), batch_size // LEAST))


def _intra_op():
    """Threads of an operation that TensorFlow was told of; 0: none."""
    return tf.config.threading.get_intra_op_parallelism_threads() or _number("TF_NUM_INTRAOP_THREADS")


def _inter_op():
    """Operations at once that TensorFlow was told of; 0: none."""
    return tf.config.threading.get_inter_op_parallelism_threads() or _number("TF_NUM_INTEROP_THREADS")


def _number(variable):
    text = os.environ.get(variable, "")
    return int(text) if text.isdecimal() else 0


def _cores():
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
