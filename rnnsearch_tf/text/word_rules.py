"""The truecasing model and the byte-pair codes of one side: words to pieces, pieces to words."""

from __future__ import annotations

import codecs
import os
import pathlib
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from rnnsearch_tf.config import TextConfig
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.atomic import write_file
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.text import bpe, truecase


class WordRules(tf.Module):
    """What becomes of words after tokenization: true case, then pieces; and back."""

    def __init__(
        self, truecaser: truecase.Truecaser | None = None, codes: bpe.BytePairCodes | None = None
    ) -> None:
        super().__init__(name="word_rules")
        self._truecaser = truecaser
        self._codes = codes

    def truecase(self, words: tf.RaggedTensor, begins: bool = True) -> tf.RaggedTensor:
        """Words in true case: RaggedTensor string [B, None], same shape out; `begins`: whether a
        sentence begins with each line.
        """
        return self._truecaser.truecase(words, begins) if self._truecaser else words

    def cut(self, words: tf.RaggedTensor) -> tf.RaggedTensor:
        """Pieces of words in true case: RaggedTensor string [B, None] -> the same kind."""
        return self._codes.tokenize(words) if self._codes else words

    def join(self, pieces: tf.RaggedTensor) -> tf.RaggedTensor:
        """Words of pieces, sentences with a capital: RaggedTensor string [B, None] -> the same
        kind.
        """
        words = bpe.join(pieces) if self._codes else pieces
        return truecase.detruecase(words) if self._truecaser else words

    def same_as(self, other: WordRules) -> bool:
        """Whether both have the same files."""
        return self._contents() == other._contents()

    def save(self, run: Run, side: str) -> None:
        """Write ``SIDE.truecase.model`` and ``SIDE.bpe.codes``, if there are such rules."""
        for path, data in zip((run.truecase_model(side), run.bpe_codes(side)), self._contents()):
            if data is not None:
                write_file(path, data)

    def _contents(self) -> tuple[bytes | None, ...]:
        return tuple(part and part.data for part in (self._truecaser, self._codes))


def read_rules(config: TextConfig, run: Run | None = None, side: str = "") -> WordRules | None:
    """Read the files of the options ``truecase`` and ``bpe_codes``; None if both are null.

    Args:
        config: TextConfig of the side.
        run: the RUN that has copies of the files; None: the files that the options name.
        side: "source" or "target", of the RUN.

    Raises:
        UserError: a file is missing, too large or damaged.
    """
    truecaser = codes = None
    if config.truecase is not None:
        path = config.truecase if run is None else run.truecase_model(side)
        truecaser = _read(path, truecase.Truecaser, truecase.MOST_BYTES, "a truecasing model")
    if config.bpe_codes is not None:
        path = config.bpe_codes if run is None else run.bpe_codes(side)
        codes = _read(path, bpe.BytePairCodes, bpe.MOST_BYTES, "BPE codes")
    return WordRules(truecaser, codes) if truecaser or codes else None


def _read(path: AnyPath, rules: Callable[[bytes, AnyPath], Any], most: int, what: str) -> Any:
    """Make rules of the content of a file of at most `most` bytes."""
    try:
        size = os.stat(path).st_size
        if size <= most:
            return rules(pathlib.Path(path).read_bytes().removeprefix(codecs.BOM_UTF8), path)
    except OSError as error:
        raise UserError(f"{path}: expected {what}, got: {error.strerror}; check the path") from None
    raise UserError(
        f"{path}: expected {what} of at most {most:,} bytes, got {size:,}; check the path"
    )
