"""A prepared corpus: all training pairs as ids, in files that are read by the number of a pair,
without reading what stands before it.

::

    DIR/manifest.json                what it was made from and with, sizes, checksums
    DIR/ids.bin                      the ids of all pairs, one after the other: of a pair those of
                                     its source, then those of its target
    DIR/offsets.bin                  int64 [pairs + 1]: where in ids.bin a pair begins
    DIR/lengths.bin                  uint16 or uint32 [pairs, 2]: how many source and target ids
                                     it has, the end symbols included
    DIR/vocabulary.source.txt, …     vocabularies and SentencePiece models, as in a RUN folder
    DIR/development.source.txt, …    the development text, where one was held out

Numbers are little-endian; ids are uint16 where both vocabularies allow that, uint32 otherwise.
TensorFlow maps the files into memory: only the parts that are read take any, and the system takes
that back when it needs it.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import shlex
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import DataConfig, TextConfig
from rnnsearch_tf.config.option import names_with
from rnnsearch_tf.data.pairs import Pairs, Report
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.runs.folder import digest_of
from rnnsearch_tf.text.pipeline import Text, load_text

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
    """The three files as tensors whose memory is the mapped file: a tf.constant would be a copy."""

    ids: tf.Tensor  # uint16 or uint32 [ids]
    offsets: tf.Tensor  # int64 [pairs + 1]
    lengths: tf.Tensor  # uint16 or uint32 [pairs, 2]


class PreparedPairs(Pairs):
    """The training pairs that ``rnnsearch prepare`` wrote.

    Args:
        folder: path of the folder.

    Attributes:
        folder: pathlib.Path.
        count: int, pairs.
        sizes: list of (pairs, weight) of the corpora, in the order in which they stand.
        report: Report of the text that it was made from.

    Raises:
        UserError: it is no such folder, another version wrote it, or a file has another size than
            it had, a small one another checksum; :meth:`verify` looks at the large ones.
    """

    def __init__(self, folder: str | os.PathLike):
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
        except (KeyError, TypeError, ValueError) as error:
            raise self._damaged(f"{MANIFEST} has no such corpora or report ({error})") from None
        self._check_sizes()
        self._compare(
            [name for name in self.manifest["files"] if name not in (IDS, OFFSETS, LENGTHS)]
        )
        if "sha256" in self.manifest and self.manifest["sha256"] != digest_of_manifest(
            self.manifest
        ):
            raise self._damaged(f"{MANIFEST} has another checksum than it says")

    def scan(self):
        raise UserError(
            f"{self.folder}: expected text, got a prepared corpus, which has ids only; name the"
            " text (data.train_source, data.train_target)"
        )

    def check_config(self, config) -> None:
        """Raise UsageError where a configuration makes other tokens of a text, or keeps other
        lengths, than this was prepared with.
        """
        for side in ("source", "target"):
            # older ones were prepared before there was the option
            known = {"remove_invisible": False} | self.manifest[side]
            self._require_equal(known, getattr(config, side), MAKES_TOKENS, side)
        self._require_equal(self.manifest, config.data, LENGTH_LIMITS, "data")

    def texts(self, config) -> list[Text]:
        """[source Text, target Text] of the vocabularies that it was prepared with; UsageError
        where the configuration wants others.
        """
        for side in ("source", "target"):
            known = self.manifest[side]
            # Beside a ready vocabulary the others have no effect, but earlier versions recorded
            # them.
            names = MAKES_VOCABULARY if known.get("vocabulary") is None else ("vocabulary",)
            self._require_equal(known, getattr(config, side), names, side)
        return [
            load_text(self.folder, side, getattr(config, side)) for side in ("source", "target")
        ]

    def check_texts(self, texts) -> None:
        """Raise UserError unless (source Text, target Text) make the ids it was prepared with."""
        for side, text in zip(("source", "target"), texts):
            if not text.same_as(load_text(self.folder, side, text.config)):
                raise UserError(
                    f"{self.folder}: expected ids of the {side} vocabulary that this training has,"
                    f" got those of another; prepare the text again with {side}.vocabulary set to"
                    " the training's vocabulary file or SentencePiece model"
                )

    def development(self) -> Pairs | None:
        """The development text that was held out; None where none was."""
        paths = [self.folder / f"development.{side}.txt" for side in ("source", "target")]
        return Pairs(*map(str, paths)) if paths[0].exists() else None

    def tables(self) -> Tables:
        """The files, mapped into memory by TensorFlow: nothing is read yet."""
        manifest = self.manifest
        kinds = Tables(
            (IDS, manifest["id_type"], [-1]),
            (OFFSETS, "int64", [-1]),
            (LENGTHS, manifest["length_type"], [-1, 2]),
        )
        arrays = (
            np.memmap(self.folder / name, np.dtype(kind).newbyteorder("<"), "c").reshape(shape)
            for name, kind, shape in kinds
        )
        return Tables(
            *(
                tf.experimental.dlpack.from_dlpack(np.asarray(array).__dlpack__())
                for array in arrays
            )
        )

    def verify(self) -> None:
        """Read all files and compare them with their checksums; UserError names the one that is
        damaged.
        """
        self._compare(self.manifest["files"])

    def _compare(self, names):
        for name in names:
            known = self.manifest["files"][name]["sha256"]
            if (found := digest_of(self.folder / name)) != known:
                raise self._damaged(
                    f"{name} has the SHA-256 {found[:12]}…, not {str(known)[:12]}… as when it was"
                    " written"
                )

    def _require_equal(self, known, section, names, prefix):
        for name in names:
            if known.get(name) != getattr(section, name):
                raise UsageError(
                    f"{prefix}.{name}: expected {known.get(name)}, with which {self.folder} was"
                    f" prepared, got {getattr(section, name)}; take that value, or prepare the text"
                    " again"
                )

    def _check_sizes(self):
        manifest = self.manifest
        for name, known in manifest["files"].items():
            if (
                os.path.basename(name) != name
                or not isinstance(known, dict)
                or {"bytes", "sha256"} - known.keys()
            ):
                raise self._damaged(f"{MANIFEST} names a file {name!r} that cannot be one of it")
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
            raise self._damaged(f"the sizes in {MANIFEST} do not fit together")
        if any(pairs < 0 or not 0 < weight < float("inf") for pairs, weight in self.sizes):
            raise self._damaged(f"{MANIFEST} has a corpus of a size or a weight that cannot be")
        if np.memmap(self.folder / OFFSETS, "<i8", "r")[-1] != manifest["ids"]:
            raise self._damaged(f"{OFFSETS} does not fit {IDS}")

    def _damaged(self, what) -> UserError:
        return UserError(
            f"{self.folder}: expected a corpus as `rnnsearch prepare` wrote it, got a damaged one:"
            f" {what}; prepare it again; `rnnsearch prepare --output"
            f" {shlex.quote(str(self.folder))} --check` reads all files"
        )


def digest_of_manifest(manifest) -> str:
    """The SHA-256 of all that a manifest says, but for this digest itself, in hexadecimal."""
    values = {name: value for name, value in manifest.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _size(kind):
    return {"uint16": 2, "uint32": 4}[kind]


def _read_manifest(folder) -> dict:
    path = folder / MANIFEST
    if not path.is_file():
        found = (
            "a folder without one"
            if folder.is_dir()
            else "a file"
            if folder.exists()
            else "nothing there"
        )
        raise UserError(
            f"{path}: expected the manifest of a corpus that `rnnsearch prepare` wrote, got"
            f" {found}; check data.prepared"
        )
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path}: expected the manifest of a prepared corpus, got {error}; prepare it again"
        ) from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        found = manifest.get("format") if isinstance(manifest, dict) else manifest
        raise UserError(
            f"{path}: expected a prepared corpus of format {FORMAT}, got {found!r}; prepare it"
            " again with this version"
        )
    wrong = [name for name, kind in _KEYS.items() if type(manifest.get(name)) is not kind]
    wrong += [
        name
        for name in ("id_type", "length_type")
        if manifest.get(name) not in ("uint16", "uint32")
    ]
    wrong += [name for name in (IDS, OFFSETS, LENGTHS) if name not in manifest.get("files", ())]
    if wrong:
        raise UserError(
            f"{path}: expected the manifest of a prepared corpus, got one without"
            f" {', '.join(dict.fromkeys(wrong))}; prepare it again"
        )
    return manifest
