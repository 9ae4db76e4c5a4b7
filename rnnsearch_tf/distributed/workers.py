"""The processes that train one model together, each on its share of every batch.

Every worker has the whole model and makes the same update: the gradients of the shares are summed
over all workers, and so are the numbers that the loss is divided by. Worker 0 is the chief, which
alone writes files. Under a ``tf.distribute.MirroredStrategy`` one process has several replicas of
the model; the sums are then over the replicas.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import zlib

import tensorflow as tf

from rnnsearch_tf.distributed.addresses import this_worker
from rnnsearch_tf.errors import PeerLost, UsageError, UserError

_GROUP = 7001  # of the collective operations; no other is used in the cluster with this number
# numbers of a tensor that is summed by itself: to put it beside others takes longer than to send
# it apart
_LARGE = 1 << 16
# of malloc.h
_MALLOPT_TRIM_THRESHOLD = -1
_MALLOPT_MMAP_THRESHOLD = -3
# how many different numbers of rows are sent: each has its own key, of which TensorFlow remembers
# every one
_NUMBERS_OF_ROWS = 64


class Alone:
    """One process, whether or not it has several replicas.

    Attributes:
        index: int, 0; the number of this worker.
        count: int, 1; how many there are.
        chief: bool, True; whether this worker writes files.
        exchange_dtype: tf.DType that several workers send large gradients in; None, their own. Set
            before ``fit``.
    """

    index = 0
    count = 1
    chief = True
    exchange_dtype = None

    def counts(self, *numbers: tf.Tensor) -> list[tf.Tensor]:
        """Integers of a batch, int32 scalars -> their sums over all workers, the same in all of
        them.
        """
        if _replicas() == 1:
            return list(numbers)
        # int32 has no GPU kernels
        return [
            tf.cast(total, tf.int32)
            for total in self.sums(tf.cast(number, tf.float64) for number in numbers)
        ]

    def sums(self, tensors) -> list[tf.Tensor]:
        """Tensors of an update, or tf.IndexedSlices -> their sums over all workers, tensors with
        the same bits in all of them.
        """
        tensors = [tf.convert_to_tensor(tensor) for tensor in tensors]
        if _replicas() == 1:
            return tensors
        return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, tensors)

    def agree(self, *numbers: float) -> list[float]:
        """At least one number known to Python -> their sums over all workers; waits for all of
        them.
        """
        return list(numbers)

    def barrier(self) -> None:
        """Wait for all workers before this one ends, since its end is an error to those that still
        need it.
        """
        with contextlib.suppress(PeerLost):
            self.agree(0)


class Workers(Alone):
    """This process as one of several; made by :func:`join`.

    Args:
        index: int, the number of this worker, from 0.
        count: int, how many there are.
    """

    def __init__(self, index: int, count: int):
        self.index = index
        self.count = count
        self.chief = index == 0

    def counts(self, *numbers):
        return [
            tf.cast(total, tf.int32)
            for total in tf.unstack(self._sum(tf.cast(tf.stack(numbers), tf.float64), "counts"))
        ]

    def sums(self, tensors):
        """Of a large tf.IndexedSlices, the gradient of an embedding, only the rows are sent that a
        word of the batch has.

        One operation sums all small tensors of a type, which would take their time one by one; the
        operations come in one order.
        """
        tensors = list(tensors)
        large = [tensor.shape.num_elements() >= _LARGE for tensor in tensors]
        sparse = [
            place
            for place, tensor in enumerate(tensors)
            if large[place] and isinstance(tensor, tf.IndexedSlices)
        ]
        totals = dict(zip(sparse, self._sums_of_rows([tensors[place] for place in sparse])))
        groups = {}
        before = list(totals.values())
        for place, tensor in enumerate(tensors):
            if place not in totals:
                tensors[place] = tf.convert_to_tensor(tensor)
                groups.setdefault(place if large[place] else tensor.dtype, []).append(place)
        for number, places in enumerate(groups.values()):
            sizes = [tensors[place].shape.num_elements() for place in places]
            flat = [tf.reshape(tensors[place], [-1]) for place in places]
            flat = (
                flat[0]
                if len(flat) == 1
                else tf.ensure_shape(tf.concat(flat, axis=0), [sum(sizes)])
            )
            with tf.control_dependencies(before):
                total = (
                    self._sum_of_large(flat, f"update {number}")
                    if large[places[0]]
                    else self._sum(flat, f"update {number}")
                )
            before = [total]
            totals |= {
                place: tf.reshape(part, tensors[place].shape)
                for place, part in zip(places, tf.split(total, sizes))
            }
        return [totals[place] for place in range(len(tensors))]

    def agree(self, *numbers):
        """Raises PeerLost where another worker is gone."""
        with losing_peers():
            return self._sum(tf.constant(numbers, tf.float64), "agreed").numpy().tolist()

    def _sums_of_rows(self, slices):
        """[IndexedSlices of V rows] -> [their sums, tensors].

        Every worker sends its rows to all, padded with zeros to the K of the worker with most: K (n
        - 1) rows of n workers. The sum of whole matrices sends 2 V (n - 1) / n, and is taken where
        that is less.
        """
        if not slices:
            return []
        rows = [_unique_rows(each) for each in slices]
        most = tf.unstack(
            self._sum(
                tf.stack([tf.cast(tf.size(indices), tf.float64) for indices, _ in rows]),
                "rows",
                merge="Max",
            )
        )
        totals = []
        for number, (each, (indices, values), longest) in enumerate(zip(slices, rows, most)):
            vocabulary_size = each.shape[0]
            step = max(vocabulary_size // _NUMBERS_OF_ROWS, 1)
            steps = (tf.cast(longest, tf.int32) + step - 1) // step
            gathered = functools.partial(
                self._sum_of_gathered, each.shape, indices, values, number, steps, steps * step
            )
            summed = functools.partial(self._sum_of_whole, each, number)
            with tf.control_dependencies(totals):
                totals.append(
                    tf.cond(steps * step * self.count < 2 * vocabulary_size, gathered, summed)
                )
        return totals

    def _sum_of_gathered(self, shape, indices, values, number, steps, rows):
        missing = rows - tf.size(indices)
        indices = self._gather(tf.pad(indices, [[0, missing]]), f"indices {number}", steps)
        with tf.control_dependencies([indices]):
            sent = self._gather(
                self._as_sent(tf.pad(values, [[0, missing], [0, 0]])), f"rows {number}", steps
            )
        total = tf.zeros(shape, values.dtype)
        received = tf.cast(sent, values.dtype)
        # in one order, for the same bits
        for indices, values in zip(tf.split(indices, self.count), tf.split(received, self.count)):
            total = tf.tensor_scatter_nd_add(total, indices[:, tf.newaxis], values)
        return total

    def _sum_of_whole(self, slices, number):
        whole = tf.reshape(tf.convert_to_tensor(slices), [-1])
        return tf.reshape(self._sum_of_large(whole, f"whole {number}"), slices.shape)

    def _sum_of_large(self, values, name):
        return tf.cast(self._sum(self._as_sent(values), name), values.dtype)

    def _as_sent(self, values):
        return tf.cast(values, self.exchange_dtype or values.dtype)

    def _gather(self, values, name, size):
        """Values [N, ...] -> those of all workers [count·N, ...]; ``size``, an int32 scalar, is
        another one for another N.
        """
        # TensorFlow gathers no bfloat16
        sent = tf.bitcast(values, tf.float16) if values.dtype == tf.bfloat16 else values
        gathered = tf.raw_ops.CollectiveGatherV2(
            input=sent,
            group_size=self.count,
            group_key=_GROUP,
            instance_key=_key(name, values) + size,
            ordering_token=[],
        )
        return tf.bitcast(gathered, values.dtype)

    def _sum(self, values, name, merge="Add"):
        return tf.raw_ops.CollectiveReduceV2(
            input=values,
            group_size=self.count,
            group_key=_GROUP,
            instance_key=_key(name, values),
            ordering_token=[],
            merge_op=merge,
            final_op="Id",
        )


def _key(name, values):
    """A sum has the same key in every graph, since two workers may run differently traced ones, and
    one for each size, which may not change.
    """
    return zlib.crc32(f"{name} {values.shape[0]} {values.dtype.name}".encode()) >> 2


def _unique_rows(slices):
    """(indices [N] of the rows that are not zero, each once, int32; these rows [N, m])."""
    indices, places = tf.unique(slices.indices)
    return tf.cast(indices, tf.int32), tf.math.unsorted_segment_sum(
        slices.values, places, tf.size(indices)
    )


_joined = {}


def join() -> Alone:
    """Become the worker that TF_CONFIG says, and wait until all have come; before TensorFlow's
    first operation, once a process.

    Returns:
        Workers; Alone where there is one worker only.

    Raises:
        UsageError: TF_CONFIG is not set, or is no such cluster; or TensorFlow has worked already.
    """
    index, addresses = this_worker()
    if len(addresses) == 1:
        return Alone()
    if not _joined:
        _keep_freed_memory()
        try:
            # connects the workers, and watches whether they live
            _joined["strategy"] = tf.distribute.MultiWorkerMirroredStrategy()
        except RuntimeError as error:
            if "startup" not in str(error):
                raise UserError(
                    f"TF_CONFIG: expected to become worker {index} of {', '.join(addresses)}, got:"
                    f" {error}"
                ) from None
            raise UsageError(
                "multi-worker training: expected to begin before TensorFlow's first operation;"
                " begin it first in a process"
            ) from None
    return Workers(index, len(addresses))


def _keep_freed_memory():
    """Have glibc keep what is freed: up to 1 GiB, of blocks up to 32 MiB. Its own environment
    variables (``MALLOC_…``) no longer count.

    The buffers of the sums come and go with every update, and to get them from the system again
    takes longer.
    """
    with contextlib.suppress(OSError, AttributeError):  # another C library
        libc = ctypes.CDLL(None)
        libc.mallopt(_MALLOPT_MMAP_THRESHOLD, 32 << 20)
        libc.mallopt(_MALLOPT_TRIM_THRESHOLD, 1 << 30)


def mirrored() -> tf.distribute.Strategy:
    """The MirroredStrategy in whose scope this is called, or one of all GPUs: one a process, since
    TensorFlow mixes up the sums of two.
    """
    if tf.distribute.has_strategy():
        return tf.distribute.get_strategy()
    if "replicas" not in _joined:
        _joined["replicas"] = tf.distribute.MirroredStrategy()
    return _joined["replicas"]


@contextlib.contextmanager
def losing_peers():
    """Inside, the error of a sum for which a worker is missing becomes PeerLost."""
    try:
        yield
    except (
        tf.errors.UnavailableError,
        tf.errors.AbortedError,
        tf.errors.CancelledError,
        tf.errors.InternalError,
        tf.errors.FailedPreconditionError,
        tf.errors.DeadlineExceededError,
    ) as error:
        if "ollective" not in str(error):
            raise
        raise PeerLost("the end of another worker") from None


def _replicas():
    return tf.distribute.get_strategy().num_replicas_in_sync
