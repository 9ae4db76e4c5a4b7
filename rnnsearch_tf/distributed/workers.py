"""The workers of a training: processes that train one model, each on its share of every batch.

Every worker has the whole model and makes the same update: gradients, and the numbers that the loss
is divided by, are summed over all workers. Only worker 0, the chief, writes files. Under a
``tf.distribute.MirroredStrategy`` one process has several replicas of the model; the sums are then
over the replicas.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import zlib
from collections.abc import Iterable, Iterator, Sequence

import tensorflow as tf

from rnnsearch_tf.distributed.addresses import this_worker
from rnnsearch_tf.errors import PeerLost, UsageError, UserError
from rnnsearch_tf.runtime.tensorflow_internals import collective_gather, collective_reduce

_GROUP = 7001  # key of our collective operations, used by no other in the cluster
# elements of a tensor that is sent by itself: concatenating it with others would take longer
_LARGE = 1 << 16
# from malloc.h
MALLOPT_TRIM_THRESHOLD = -1
MALLOPT_MMAP_THRESHOLD = -3
# number of distinct row counts; TensorFlow caches one collective key for each
_ROW_COUNTS = 64


class SingleWorker:
    """The only process of a training, with one or several replicas; the interface of Workers.

    Attributes:
        index: the number of this worker, from 0.
        count: the number of workers.
        chief: whether this worker writes files.
        exchange_dtype: tf.DType in which workers send large gradients; None: their own. Set it
            before ``fit``.
    """

    index: int = 0
    count: int = 1
    chief: bool = True
    exchange_dtype: tf.DType | None = None

    def counts(self, *numbers: tf.Tensor) -> list[tf.Tensor]:
        """Sum integers of a batch, int32 scalars, over all workers; all get the same result."""
        if _replicas() == 1:
            return list(numbers)
        # int32 has no GPU kernels
        return [
            tf.cast(total, tf.int32)
            for total in self.sums(tf.cast(number, tf.float64) for number in numbers)
        ]

    def sums(self, tensors: Iterable[tf.Tensor | tf.IndexedSlices]) -> list[tf.Tensor]:
        """Sum the tensors of an update over all workers; all get the same bits. The result of
        tf.IndexedSlices is a dense tensor.
        """
        tensors = [tf.convert_to_tensor(tensor) for tensor in tensors]
        if _replicas() == 1:
            return tensors
        return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, tensors)

    def all_reduce(self, *numbers: float) -> list[float]:
        """Sum Python numbers, at least one, over all workers; waits for all of them."""
        return list(numbers)

    def barrier(self) -> None:
        """Wait for all workers: if one exits early, the others fail."""
        with contextlib.suppress(PeerLost):
            self.all_reduce(0)


class Workers(SingleWorker):
    """This process as one of several workers; made by :func:`join`.

    Args:
        index: the number of this worker, from 0.
        count: the number of workers.
    """

    def __init__(self, index: int, count: int) -> None:
        self.index = index
        self.count = count
        self.chief = index == 0

    def counts(self, *numbers: tf.Tensor) -> list[tf.Tensor]:
        return [
            tf.cast(total, tf.int32)
            for total in tf.unstack(self._sum(tf.cast(tf.stack(numbers), tf.float64), "counts"))
        ]

    def sums(self, tensors: Iterable[tf.Tensor | tf.IndexedSlices]) -> list[tf.Tensor]:
        """Sum the tensors of an update over all workers.

        Of a large tf.IndexedSlices, the gradient of an embedding, only the rows of words in the
        batch are sent. All small tensors of a dtype are summed by one operation, which is faster
        than one operation each. The operations have a fixed order.
        """
        tensors = list(tensors)
        large = [tensor.shape.num_elements() >= _LARGE for tensor in tensors]
        sparse = [
            place
            for place, tensor in enumerate(tensors)
            if large[place] and isinstance(tensor, tf.IndexedSlices)
        ]
        totals = dict(zip(sparse, self._sums_of_rows([tensors[place] for place in sparse])))
        groups: dict[object, list[int]] = {}
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

    def all_reduce(self, *numbers: float) -> list[float]:
        """Sum Python numbers over all workers; raises PeerLost if another worker was lost."""
        with losing_peers():
            return self._sum(tf.constant(numbers, tf.float64), "agreed").numpy().tolist()

    def _sums_of_rows(self, slices: Sequence[tf.IndexedSlices]) -> list[tf.Tensor]:
        """Sum gradients of embeddings, IndexedSlices of V rows, over n workers.

        Every worker sends its rows to all others, padded with zeros to K, the most rows of any
        worker: K (n - 1) rows. Summing whole matrices sends 2 V (n - 1) / n rows, and is used if
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
        totals: list[tf.Tensor] = []
        for number, (each, (indices, values), longest) in enumerate(zip(slices, rows, most)):
            vocabulary_size = each.shape[0]
            step = max(vocabulary_size // _ROW_COUNTS, 1)
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

    def _sum_of_gathered(
        self,
        shape: tf.TensorShape,
        indices: tf.Tensor,
        values: tf.Tensor,
        number: int,
        steps: tf.Tensor,
        rows: tf.Tensor,
    ) -> tf.Tensor:
        missing = rows - tf.size(indices)
        indices = self._gather(tf.pad(indices, [[0, missing]]), f"indices {number}", steps)
        with tf.control_dependencies([indices]):
            sent = self._gather(
                self._as_sent(tf.pad(values, [[0, missing], [0, 0]])), f"rows {number}", steps
            )
        total = tf.zeros(shape, values.dtype)
        received = tf.cast(sent, values.dtype)
        # in a fixed order, so that all workers get the same bits
        for indices, values in zip(tf.split(indices, self.count), tf.split(received, self.count)):
            total = tf.tensor_scatter_nd_add(total, indices[:, tf.newaxis], values)
        return total

    def _sum_of_whole(self, slices: tf.IndexedSlices, number: int) -> tf.Tensor:
        whole = tf.reshape(tf.convert_to_tensor(slices), [-1])
        return tf.reshape(self._sum_of_large(whole, f"whole {number}"), slices.shape)

    def _sum_of_large(self, values: tf.Tensor, name: str) -> tf.Tensor:
        return tf.cast(self._sum(self._as_sent(values), name), values.dtype)

    def _as_sent(self, values: tf.Tensor) -> tf.Tensor:
        return tf.cast(values, self.exchange_dtype or values.dtype)

    def _gather(self, values: tf.Tensor, name: str, size: tf.Tensor) -> tf.Tensor:
        """All-gather: values [N, ...] -> those of all workers [count·N, ...]; ``size``, an int32
        scalar, must be unique for each N: it becomes part of the key.
        """
        # TensorFlow cannot gather bfloat16
        sent = tf.bitcast(values, tf.float16) if values.dtype == tf.bfloat16 else values
        gathered = collective_gather(
            input=sent,
            group_size=self.count,
            group_key=_GROUP,
            instance_key=_key(name, values) + size,
            ordering_token=[],
        )
        return tf.bitcast(gathered, values.dtype)

    def _sum(self, values: tf.Tensor, name: str, merge: str = "Add") -> tf.Tensor:
        return collective_reduce(
            input=values,
            group_size=self.count,
            group_key=_GROUP,
            instance_key=_key(name, values),
            ordering_token=[],
            merge_op=merge,
            final_op="Id",
        )


def _key(name: str, values: tf.Tensor) -> int:
    """The key of a collective operation. It is the same in every graph, since workers may trace
    different graphs, and differs for every size, since the size of a key must not change.
    """
    return zlib.crc32(f"{name} {values.shape[0]} {values.dtype.name}".encode()) >> 2


def _unique_rows(slices: tf.IndexedSlices) -> tuple[tf.Tensor, tf.Tensor]:
    """(indices int32 [N] of the rows that are not zero, each once; these rows [N, m])."""
    indices, places = tf.unique(slices.indices)
    return tf.cast(indices, tf.int32), tf.math.unsorted_segment_sum(
        slices.values, places, tf.size(indices)
    )


_strategies: dict[str, tf.distribute.Strategy] = {}


def join() -> SingleWorker:
    """Become the worker that TF_CONFIG names, and wait until all workers have joined. Call it
    before TensorFlow's first operation.

    Returns:
        Workers; SingleWorker if there is only one.

    Raises:
        UsageError: TF_CONFIG is not set or does not describe a cluster of workers; or TensorFlow
            has already run an operation.
        UserError: TensorFlow cannot connect the workers.
    """
    index, addresses = this_worker()
    if len(addresses) == 1:
        return SingleWorker()
    if "workers" not in _strategies:
        _keep_freed_memory()
        try:
            # connects the workers, and detects lost ones
            _strategies["workers"] = tf.distribute.MultiWorkerMirroredStrategy()
        except (RuntimeError, tf.errors.OpError) as error:
            if "startup" not in str(error):
                raise UserError(
                    f"TF_CONFIG: expected to become worker {index} of {', '.join(addresses)}, got:"
                    f" {error}; give every worker an address host:port, with a port that is free on"
                    " its machine"
                ) from None
            raise UsageError(
                "multi-worker training: expected to begin before TensorFlow's first operation;"
                " begin it first in a process"
            ) from None
    return Workers(index, len(addresses))


def _keep_freed_memory() -> None:
    """Let glibc keep freed memory: up to 1 GiB, in blocks up to 32 MiB. This overrides its
    environment variables (``MALLOC_…``).

    The buffers of the sums are allocated for every update, and getting them from the system each
    time is slower. Python has no function for it. Tried with glibc 2.36, and tested by
    tests/house/test_library_internals.py.
    """
    with contextlib.suppress(OSError, AttributeError):  # another C library
        libc = ctypes.CDLL(None)
        libc.mallopt(MALLOPT_MMAP_THRESHOLD, 32 << 20)
        libc.mallopt(MALLOPT_TRIM_THRESHOLD, 1 << 30)


def mirrored() -> tf.distribute.Strategy:
    """The current strategy, or a MirroredStrategy over all GPUs: one per process, since TensorFlow
    confuses the sums of two.
    """
    if tf.distribute.has_strategy():
        return tf.distribute.get_strategy()
    if "replicas" not in _strategies:
        _strategies["replicas"] = tf.distribute.MirroredStrategy()
    return _strategies["replicas"]


@contextlib.contextmanager
def losing_peers() -> Iterator[None]:
    """Turn the error of a collective operation that misses a worker into PeerLost."""
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


def _replicas() -> int:
    return tf.distribute.get_strategy().num_replicas_in_sync
