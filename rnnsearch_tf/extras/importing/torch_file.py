"""Tensors of a file that ``torch.save`` wrote, without PyTorch.

Since PyTorch 1.6 such a file is a zip archive: ``data.pkl`` describes nested dictionaries of
tensors, ``data/N`` has the numbers of one storage. Nothing that the description names is run: its
tensors become names of storages, and any other object becomes an empty one.
"""

from __future__ import annotations

import io
import math
import os
import pickle
import zipfile
from typing import Any, NamedTuple

import numpy as np

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.untrusted import MOST_EXPANSION, SMALL_ARCHIVE
from rnnsearch_tf.extras.importing.arrays import DAMAGE, ArrayFile, Shape
from rnnsearch_tf.extras.importing.pickles import MOST_BYTES, PLAIN, OrderedDict, check_instructions

OBJECTS = PLAIN | {"GLOBAL", "STACK_GLOBAL", "REDUCE", "NEWOBJ", "BUILD", "BINPERSID"}
"""The instructions of a description: plain values, objects and storages."""

DTYPES = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
}


class _Storage(NamedTuple):
    key: str
    dtype: str


class _Tensor(NamedTuple):
    storage: _Storage
    offset: int
    shape: Shape
    strides: Shape


def _tensor(storage: Any, offset: Any, shape: Any, strides: Any) -> _Tensor:
    sizes = (offset, *shape, *strides)
    if (
        not isinstance(storage, _Storage)
        or {type(shape), type(strides)} != {tuple}  # a list would be copied
        or len(shape) != len(strides)
        or not all(type(size) is int and 0 <= size < 1 << 40 for size in sizes)
    ):
        raise pickle.UnpicklingError("a tensor of other parts")
    return _Tensor(storage, offset, shape, strides)


class _Ignored:
    """Stands for every other object."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        pass


class _Description(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda *parts: _tensor(*parts[:4])
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            return lambda tensor, *_: tensor
        return DTYPES.get(name, _Ignored) if module == "torch" else _Ignored

    def persistent_load(self, identity: Any) -> Any:
        kind, dtype, key, *_ = identity
        if kind != "storage" or dtype not in DTYPES.values() or not isinstance(key, str):
            raise pickle.UnpicklingError("a storage of another kind")
        return _Storage(key, dtype)


class TorchFile(ArrayFile):
    """The tensors under one key of a dictionary that ``torch.save`` wrote.

    Args:
        path: the file.
        key: the key of the dictionary of tensors, such as ``model_state``.

    Raises:
        UserError: the file is missing or damaged, has an older form, or has no such key.
    """

    def __init__(self, path: AnyPath, key: str) -> None:
        self.path = path
        try:
            with zipfile.ZipFile(path) as archive:
                entries = {entry.filename: entry for entry in archive.infolist()}
                found = [name for name in entries if name.endswith("/data.pkl")]
                if not found or entries[found[0]].file_size > MOST_BYTES:
                    raise self._other()
                self._folder = found[0].removesuffix("data.pkl")
                self._check_sizes(list(entries.values()))
                description = archive.read(found[0])
                order = b"little"
                if f"{self._folder}byteorder" in entries:
                    with archive.open(f"{self._folder}byteorder") as file:
                        order = file.read(10)
        except DAMAGE:
            raise self._other() from None
        if order != b"little":
            raise UserError(f"{path}: expected numbers in little-endian order, got {order!r}")
        check_instructions(path, description, OBJECTS)
        try:
            tree = _Description(io.BytesIO(description)).load()
        except Exception:  # a damaged description may raise anything
            raise self._other() from None
        if not isinstance(tree, dict) or not isinstance(tree.get(key), dict):
            raise UserError(
                f"{path}: expected a checkpoint with {key}, found none; is it the file of"
                " another program?"
            )
        tensors = tree[key].items()
        self._tensors = {name: value for name, value in tensors if isinstance(value, _Tensor)}
        for name, tensor in self._tensors.items():
            entry = entries.get(self._entry(tensor))
            size = entry.file_size if entry else 0
            self._check_extent(name, size // np.dtype(tensor.storage.dtype).itemsize)
        self.shapes = {name: tensor.shape for name, tensor in self._tensors.items()}

    def _other(self) -> UserError:
        return UserError(
            f"{self.path}: expected a file of torch.save (PyTorch 1.6 or newer), got a damaged or"
            " other file; of an older one: torch.save(torch.load(F, weights_only=True), F2)"
        )

    def _check_sizes(self, entries: list[zipfile.ZipInfo]) -> None:
        size = sum(entry.file_size for entry in entries)
        limit = max(SMALL_ARCHIVE, MOST_EXPANSION * os.path.getsize(self.path))
        if size > limit:
            raise UserError(
                f"{self.path}: refused: expected at most {limit:,} bytes, unpacked, got {size:,}"
            )

    def _entry(self, tensor: _Tensor) -> str:
        """The entry of the archive with the numbers of a tensor."""
        return f"{self._folder}data/{tensor.storage.key}"

    def _check_extent(self, name: str, count: int) -> None:
        """Refuse a tensor that needs more than this many numbers of its storage."""
        _, offset, shape, strides = self._tensors[name]
        last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides))
        if math.prod(shape) > count or 0 not in shape and last >= count:
            raise self.damaged(name, ValueError(f"{count:,} numbers for {shape}"))

    def _values(self, name: str) -> np.ndarray:
        storage, offset, shape, strides = self._tensors[name]
        try:
            with zipfile.ZipFile(self.path) as archive:
                numbers = np.frombuffer(
                    archive.read(self._entry(self._tensors[name])), storage.dtype
                )
        except DAMAGE as error:
            raise self.damaged(name, error) from None
        self._check_extent(name, len(numbers))
        steps = [stride * numbers.itemsize for stride in strides]
        return np.lib.stride_tricks.as_strided(numbers[offset:], shape, steps)
