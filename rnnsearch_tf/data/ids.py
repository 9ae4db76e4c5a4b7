"""Every pair as ids, encoded once: two flat arrays with offsets, memory-mapped.

A store is a folder of a few files, so that text larger than memory trains and a resumed training
reads no text. Row k of a side is ``flat[offsets[k]:offsets[k + 1]]``, END_ID included.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import pathlib
import tempfile
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import PAD_ID
from rnnsearch_tf.data.pairs import SIDES, Pair, Pairs
from rnnsearch_tf.data.variants import variants_of
from rnnsearch_tf.errors import UserError, one_line
from rnnsearch_tf.files.atomic import new_folder
from rnnsearch_tf.files.reading import batches
from rnnsearch_tf.runtime.progress import progress
from rnnsearch_tf.text.pipeline import Text


@dataclasses.dataclass(frozen=True)
class Ids:
    """The pairs of a store.

    Attributes:
        flat: ids of the source and of the target side, uint16 or uint32.
        offsets: int64 [pairs + 1] of each side.
        part_sizes: pairs of each file, in their order.
        weights: how often an epoch reads each file.
    """

    flat: tuple[np.ndarray, np.ndarray]
    offsets: tuple[np.ndarray, np.ndarray]
    part_sizes: list[int]
    weights: list[float]

    def __len__(self) -> int:
        return len(self.offsets[0]) - 1

    def lengths(self) -> np.ndarray:
        """Tokens of the longer side of each pair, END_ID included: int32 [pairs]."""
        source, target = (np.diff(offsets).astype(np.int32) for offsets in self.offsets)
        return np.maximum(source, target, out=source)

    def batch(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(source ids int32 [B, J], target ids int32 [B, I]) of these rows, padded on the right."""
        return self._padded(0, rows), self._padded(1, rows)

    def _padded(self, side: int, rows: np.ndarray) -> np.ndarray:
        starts = self.offsets[side][rows]
        lengths = self.offsets[side][rows + 1] - starts
        columns = np.arange(lengths.max(initial=0))
        ids = self.flat[side].take(starts[:, None] + columns, mode="clip")
        return np.where(columns < lengths[:, None], ids, PAD_ID).astype(np.int32)


def open_ids(folder: pathlib.Path) -> Ids:
    """Open a store that :func:`encode` wrote.

    Raises:
        UserError: it is missing or damaged.
    """
    try:
        store = json.loads((folder / "ids.json").read_text(encoding="utf-8"))
        flat = _mapped(folder, "ids", store["dtype"])
        offsets = _mapped(folder, "offsets", np.int64)
        for ids, ends, size in zip(flat, offsets, store["sizes"]):
            if len(ids) != size or len(ends) != sum(store["part_sizes"]) + 1 or ends[-1] != size:
                raise ValueError("a file has another length")
    except (OSError, ValueError) as error:
        raise UserError(
            f"{folder}: expected the ids of a training text, got none or a damaged file"
            f" ({one_line(error)}); restore the folder, or delete it and start a new training"
        ) from None
    return Ids(flat, offsets, store["part_sizes"], store["weights"])


def _mapped(folder: pathlib.Path, kind: str, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """The arrays of both sides, as plain ones: those of np.memmap are slow to index."""
    source, target = (
        np.asarray(np.memmap(folder / f"{side}.{kind}", dtype, "r")) for side in SIDES
    )
    return source, target


def encode(
    pairs: Pairs,
    texts: tuple[Text, Text],
    maximum_length: int,
    variants: float = 0.0,
    seed: int = 0,
    folder: pathlib.Path | None = None,
) -> Ids:
    """Encode all pairs, and the variants of a share of them, in one pass.

    Args:
        pairs: their report counts those that are too long.
        maximum_length: most tokens of a side, END_ID not counted; longer pairs are left out.
        variants: see :func:`~rnnsearch_tf.data.variants.variants_of`.
        seed: seed of the variants.
        folder: the store, which takes its place when it is complete; None: a temporary one, whose
            files live as long as the arrays.

    Raises:
        UserError: no pair is short enough; the store cannot be written; and as Pairs.
    """
    with tempfile.TemporaryDirectory() as temporary:
        path = folder or pathlib.Path(temporary) / "ids"
        with new_folder(path) as partial, _Writer(partial, texts, maximum_length) as writer:
            random = np.random.default_rng([seed, 4])
            for part in pairs.parts():
                found = progress((pair for _, pair in part), doing="encoding", unit="pairs")
                writer.part_sizes.append(0)
                for group in batches(found):
                    pairs.report.too_long += writer.write(group)
                    writer.write(variants_of(group, variants, random))
            if not sum(writer.part_sizes):
                raise UserError(
                    f"{pairs.name}: expected pairs of at most {maximum_length} tokens on each side,"
                    " got none; raise data.maximum_length"
                )
            writer.write_facts(pairs.weights)
        return open_ids(path)


def encoder(texts: Sequence[Text]) -> Callable[[Iterable[Pair]], list[tf.RaggedTensor]]:
    """A function that encodes both sides of any number of pairs, with one graph for each side."""
    lines = tf.TensorSpec([None], tf.string)
    graphs = [tf.function(text.encode, autograph=False, input_signature=[lines]) for text in texts]
    return lambda pairs: [graph(tf.constant(side)) for graph, side in zip(graphs, zip(*pairs))]


class _Writer(contextlib.ExitStack):
    """Writes the files of a store."""

    def __init__(self, folder: pathlib.Path, texts: Sequence[Text], maximum_length: int) -> None:
        super().__init__()
        self.folder = folder
        self.maximum_length = maximum_length
        self.part_sizes: list[int] = []
        self.sizes = [0, 0]
        self._encode = encoder(texts)
        largest = max(text.vocabulary.size for text in texts)
        self.dtype = np.dtype(np.uint16 if largest <= 2**16 else np.uint32)
        self._ids, self._offsets = (
            [self.enter_context(open(folder / f"{side}.{kind}", "wb")) for side in SIDES]
            for kind in ("ids", "offsets")
        )
        for file in self._offsets:
            file.write(np.int64(0).tobytes())

    def write(self, pairs: Sequence[Pair]) -> int:
        """Write the pairs that are short enough; return how many are not."""
        if not pairs:
            return 0
        ids = self._encode(pairs)
        lengths = [side.row_lengths().numpy() for side in ids]
        fits = np.maximum(*lengths) <= self.maximum_length + 1
        for side in (0, 1):
            kept = np.repeat(fits, lengths[side])
            self._ids[side].write(ids[side].flat_values.numpy()[kept].astype(self.dtype).tobytes())
            ends = self.sizes[side] + np.cumsum(lengths[side][fits], dtype=np.int64)
            self._offsets[side].write(ends.tobytes())
            self.sizes[side] += int(kept.sum())
        self.part_sizes[-1] += int(fits.sum())
        return int((~fits).sum())

    def write_facts(self, weights: list[float]) -> None:
        facts = dict(
            dtype=self.dtype.name,
            sizes=self.sizes,
            part_sizes=self.part_sizes,
            weights=weights,
        )
        (self.folder / "ids.json").write_text(json.dumps(facts) + "\n", encoding="utf-8")
