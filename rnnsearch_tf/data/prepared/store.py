"""A prepared corpus: all training pairs as ids, in files with random access by pair number.

::

    DIR/manifest.json                source text, options, sizes, checksums
    DIR/ids.bin                      the ids of all pairs: the source ids of the first, its target
                                     ids, the source ids of the second, …
    DIR/offsets.bin                  int64 [pairs + 1]: where in ids.bin a pair begins
    DIR/lengths.bin                  uint16 or uint32 [pairs, 2]: numbers of source and target ids,
                                     end symbols included
    DIR/vocabulary.source.txt, …     vocabularies, SentencePiece models and rules, as in a RUN
    DIR/development.source.txt, …    the development text, if one was held out

Numbers are little-endian; ids are uint16 if both vocabularies are small enough, otherwise uint32.
TensorFlow maps the files into memory: only the parts that are read take memory, and the system can
reclaim it.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import Config, DataConfig, TextConfig
from rnnsearch_tf.config.option import names_with
from rnnsearch_tf.data.pairs import LinePair, Pairs, Report
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.runs.folder import digest_of
from rnnsearch_tf.text.pipeline import Text, load_text, load_texts

FORMAT = 1
MANIFEST = "manifest.json"
IDS = "ids.bin"
OFFSETS = "offsets.bin"
LENGTHS = "lengths.bin"
LENGTH_LIMITS = names_with(DataConfig, "limits_lengths")
MAKES_TOKENS = names_with(TextConfig, "makes_tokens")
MAKES_VOCABULARY = names_with(TextConfig, "makes_vocabulary")

_KEYS = {
    "pairs": int,
    "ids": int,
    "id_type": str,
    "length_type": str,
    "corpora": list,
    "source": dict,
    "target": dict,
    "report": dict,
    "files": dict,
    **dict.fromkeys(LENGTH_LIMITS, int),
}


class Tables(NamedTuple):
    """The three files as tensors backed by the mapped files; a tf.constant would be a copy."""

    ids: tf.Tensor  # uint16 or uint32 [ids]
    offsets: tf.Tensor  # int64 [pairs + 1]
    lengths: tf.Tensor  # uint16 or uint32 [pairs, 2]


class PreparedPairs(Pairs):
    """The training pairs in a folder of ``rnnsearch prepare``.

    Args:
        folder: path of the folder.

    Attributes:
        folder: the same, as a pathlib.Path.
        manifest: contents of the manifest.
        count: number of pairs.
        sizes: (pairs, weight) of each corpus, in their order.
        report: Report of the source text.

    Raises:
        UserError: it is not such a folder, another version wrote it, the size of a file has
            changed, or the checksum of a small file; :meth:`verify` checks the large ones too.
    """

    def __init__(self, folder: str | os.PathLike[str]):
        super().__init__(str(folder), str(folder))
        self.folder = pathlib.Path(folder)
        self.manifest = _read_manifest(self.folder)
        self.count = self.manifest["pairs"]
        try:
            self.sizes = [
                (int(corpus["pairs"]), float(corpus["weight"]))
                for corpus in self.manifest["corpora"]
            ]
            self.report = Report(**self.manifest["report"])
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise self._damaged(f"{MANIFEST} has invalid corpora or report ({error})") from None
        self._check_sizes()
        large = (IDS, OFFSETS, LENGTHS)
        self._compare([name for name in self.manifest["files"] if name not in large])
        digest = digest_of_manifest(self.manifest)
        if self.manifest.get("sha256", digest) != digest:
            raise self._damaged(f"{MANIFEST} does not match its own checksum")

    def __len__(self) -> int:
        """The number of pairs, without those that were too long."""
        return self.count

    def scan(self) -> Iterator[LinePair]:
        raise UserError(
            f"{self.folder}: expected text, got a prepared corpus, which has only ids; name the"
            " text (data.train_source, data.train_target)"
        )

    def check_config(self, config: Config) -> None:
        """Raise UsageError if a configuration tokenizes text differently, or has other length
        limits, than the preparation.
        """
        for side in ("source", "target"):
            known = self.manifest[side]
            self._require_equal(known, getattr(config, side), MAKES_TOKENS, side)
        self._require_equal(self.manifest, config.data, LENGTH_LIMITS, "data")

    def texts(self, config: Config) -> Sequence[Text]:
        """(source Text, target Text) with the vocabularies of the preparation; UsageError if the
        configuration has other options for them.
        """
        for side in ("source", "target"):
            known = self.manifest[side]
            # With a given vocabulary the other options have no effect, but earlier versions
            # recorded them.
            names = MAKES_VOCABULARY if known.get("vocabulary") is None else ("vocabulary",)
            self._require_equal(known, getattr(config, side), names, side)
        return load_texts(self.folder, config)

    def check_texts(self, texts: Iterable[Text]) -> None:
        """Raise UserError unless (source Text, target Text) have the vocabularies of the
        preparation.
        """
        for side, text in zip(("source", "target"), texts):
            if not text.same_as(load_text(self.folder, side, text.config)):
                raise UserError(
                    f"{self.folder}: expected ids of this training's {side} vocabulary, got ids of"
                    f" another; prepare the text again with {side}.vocabulary set to the training's"
                    " vocabulary file or SentencePiece model"
                )

    def development(self) -> Pairs | None:
        """The development text that was held out, if any."""
        source, target = (self.folder / f"development.{side}.txt" for side in ("source", "target"))
        return Pairs(str(source), str(target)) if source.exists() else None

    def source_lengths(self, most: int) -> list[int]:
        """Numbers of source tokens, without the end symbol, of at most `most` pairs, evenly spread
        over the corpus.
        """
        kind = np.dtype(self.manifest["length_type"]).newbyteorder("<")
        lengths = np.memmap(self.folder / LENGTHS, kind, "r").reshape(-1, 2)
        return [int(length) - 1 for length in lengths[:: -(-self.count // most), 0]]

    def tables(self) -> Tables:
        """Map the files into memory as tensors, without reading them."""
        manifest = self.manifest
        files = (
            (IDS, manifest["id_type"], (-1,)),
            (OFFSETS, "int64", (-1,)),
            (LENGTHS, manifest["length_type"], (-1, 2)),
        )
        arrays = (
            np.memmap(self.folder / name, np.dtype(kind).newbyteorder("<"), "c").reshape(shape)
            for name, kind, shape in files
        )
        from_dlpack = tf.experimental.dlpack.from_dlpack
        return Tables(*(from_dlpack(np.asarray(array).__dlpack__()) for array in arrays))

    def verify(self) -> None:
        """Compare all files with their checksums; UserError names the first damaged one."""
        self._compare(self.manifest["files"])

    def _compare(self, names: Iterable[str]) -> None:
        for name in names:
            known = self.manifest["files"][name]["sha256"]
            if (found := digest_of(self.folder / name)) != known:
                raise self._damaged(
                    f"{name} has the SHA-256 {found[:12]}…, not {str(known)[:12]}… as when it was"
                    " written"
                )

    def _require_equal(
        self, known: Mapping[str, Any], section: Any, names: Sequence[str], prefix: str
    ) -> None:
        for name in names:
            if known.get(name) != getattr(section, name):
                raise UsageError(
                    f"{prefix}.{name}: expected {known.get(name)}, with which {self.folder} was"
                    f" prepared, got {getattr(section, name)}; use that value, or prepare the text"
                    " again"
                )

    def _check_sizes(self) -> None:
        manifest = self.manifest
        for name, known in manifest["files"].items():
            if (
                os.path.basename(name) != name
                or not isinstance(known, dict)
                or {"bytes", "sha256"} - known.keys()
            ):
                raise self._damaged(f"{MANIFEST} has an invalid file entry {name!r}")
            path = self.folder / name
            size = path.stat().st_size if path.is_file() else None
            if size != known["bytes"]:
                raise self._damaged(
                    f"{name} has {'no' if size is None else format(size, ',')} bytes, not"
                    f" {known['bytes']:,}"
                )
        sizes = {
            IDS: manifest["ids"] * _size(manifest["id_type"]),
            OFFSETS: 8 * (self.count + 1),
            LENGTHS: 2 * self.count * _size(manifest["length_type"]),
        }
        if (
            not self.count
            or self.count != sum(pairs for pairs, _ in self.sizes)
            or any(manifest["files"][n]["bytes"] != s for n, s in sizes.items())
        ):
            raise self._damaged(f"the sizes in {MANIFEST} are inconsistent")
        if any(pairs < 0 or not 0 < weight < float("inf") for pairs, weight in self.sizes):
            raise self._damaged(f"{MANIFEST} has a corpus with an invalid size or weight")
        if np.memmap(self.folder / OFFSETS, "<i8", "r")[-1] != manifest["ids"]:
            raise self._damaged(f"{OFFSETS} does not match {IDS}")

    def _damaged(self, problem: str) -> UserError:
        return UserError(
            f"{self.folder}: expected a corpus of `rnnsearch prepare`, got a damaged one:"
            f" {problem}; prepare it again; `rnnsearch prepare --output"
            f" {shlex.quote(str(self.folder))} --check` reads all files"
        )


def digest_of_manifest(manifest: Mapping[str, Any]) -> str:
    """The SHA-256 of a manifest's contents without this digest, in hexadecimal."""
    values = {name: value for name, value in manifest.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _size(kind: str) -> int:
    return {"uint16": 2, "uint32": 4}[kind]


def _read_manifest(folder: pathlib.Path) -> dict[str, Any]:
    path = folder / MANIFEST
    if not path.is_file():
        found = "a file" if folder.exists() else "nothing there"
        found = "a folder without one" if folder.is_dir() else found
        raise UserError(
            f"{path}: expected the manifest of a corpus of `rnnsearch prepare`, got {found}; check"
            " data.prepared"
        )
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(
            f"{path}: expected the manifest of a prepared corpus, got {error}; prepare it again"
        ) from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        version = manifest.get("format") if isinstance(manifest, dict) else manifest
        raise UserError(
            f"{path}: expected a prepared corpus of format {FORMAT}, got {version!r}; prepare it"
            " again with this version"
        )
    wrong = [name for name, kind in _KEYS.items() if type(manifest.get(name)) is not kind]
    types = ("id_type", "length_type")
    wrong += [name for name in types if manifest.get(name) not in ("uint16", "uint32")]
    if "files" not in wrong:
        wrong += [name for name in (IDS, OFFSETS, LENGTHS) if name not in manifest["files"]]
    if wrong:
        raise UserError(
            f"{path}: expected the manifest of a prepared corpus, got one without"
            f" {', '.join(dict.fromkeys(wrong))}; prepare it again"
        )
    return manifest
