"""The arrays of a file: names and shapes first, values one at a time."""

from __future__ import annotations

import abc
import math
import tokenize
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.untrusted import UNREADABLE

Shape = tuple[int, ...]
Change = Callable[..., np.ndarray]
"""What is done to arrays of another program to make a weight: another order or scale."""

DAMAGE = (*UNREADABLE, ValueError, KeyError, MemoryError, tokenize.TokenError)
"""What reading a damaged archive of arrays may raise."""


class ArrayFile(abc.ABC):
    """Arrays of numbers in a file.

    Attributes:
        path: the file.
        shapes: {name: shape}.
    """

    path: AnyPath
    shapes: dict[str, Shape]

    @abc.abstractmethod
    def _values(self, name: str) -> np.ndarray:
        """One array, as it is stored."""

    def __contains__(self, name: str) -> bool:
        return name in self.shapes

    def check(self, expected: Mapping[str, Sequence[int | None]]) -> None:
        """Check names and shapes before any array is read.

        Args:
            expected: {name: shape}; None: any size.

        Raises:
            UserError: an array is missing or has another shape.
        """
        for name, sizes in expected.items():
            wanted = f"({', '.join('any' if size is None else f'{size:,}' for size in sizes)})"
            if name not in self.shapes:
                raise UserError(
                    f"{self.path}: expected an array {name} {wanted}, found none; are these the"
                    " weights of this program and kind of model?"
                )
            got = self.shapes[name]
            fits = len(got) == len(sizes) and all(
                size in (None, other) for size, other in zip(sizes, got)
            )
            if 0 in got:
                raise UserError(
                    f"{self.path}: {name}: expected numbers, got none in {got}; is the file"
                    " damaged?"
                )
            if not fits:
                raise UserError(
                    f"{self.path}: {name}: expected {wanted} by the options, got {got}; do options"
                    " and weights belong together?"
                )

    def read(self, name: str) -> np.ndarray:
        """One array as float32.

        Raises:
            UserError: it is missing or damaged.
        """
        if name not in self.shapes:
            self.check({name: ()})
        return self._values(name).astype(np.float32)

    def count(self, names: Iterable[str]) -> int:
        """Number of values in these arrays."""
        return sum(math.prod(self.shapes[name]) for name in names)

    def damaged(self, what: str, error: Exception) -> UserError:
        """The error for bytes that are no array."""
        return UserError(
            f"{self.path}: {what}: expected an array, got damaged bytes ({error}); copy the file"
            " again"
        )
