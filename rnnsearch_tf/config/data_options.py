"""The options of the data section; ``options.py`` has the others."""

from __future__ import annotations

import dataclasses

from rnnsearch_tf.config.option import option
from rnnsearch_tf.errors import UsageError


@dataclasses.dataclass(frozen=True)
class DataConfig:
    """Sources of the sentence pairs, and batching."""

    corpus: str = option(
        "files",
        "files: the files named below; phrasebook: the built-in corpus",
        choices=("files", "phrasebook"),
    )
    folder: str | None = option(
        None, "folder that the files below are relative to; null: the current folder"
    )
    train_source: str | tuple[str, ...] | None = option(
        None,
        "training text, source side, one sentence a line, plain or gzip: a file, or a list such as"
        " [a.en, b.en.gz]",
    )
    train_target: str | tuple[str, ...] | None = option(
        None, "training text, target side; as many files"
    )
    train_weights: tuple[float, ...] | None = option(
        None,
        "how often an epoch reads each of several files, such as [1, 0.25]; 0.25: a quarter of the"
        " pairs, drawn anew for each epoch; null: once",
        above=0.0,
    )
    development_source: str | None = option(None, "development text, source side")
    development_target: str | None = option(None, "development text, target side")
    held_out: int = option(
        0,
        "if no development files are named: approximate number of pairs to take out of the training"
        " text for development, out of its first file if files have weights; training sees none of"
        " their sentences, unless as a variant of another; 0: none",
        unit="pairs",
        minimum=0,
    )
    variants: float = option(
        0.2,
        "share of the pairs that are learned a second time as people type them: without final"
        " punctuation, in another case, with other digits",
        minimum=0.0,
        maximum=1.0,
    )
    phrasebook_size: int = option(
        4_000,
        "training pairs of the built-in corpus, the first of 40,000",
        unit="pairs",
        minimum=10,
        maximum=40_000,
    )
    maximum_length: int = option(
        50,
        "pairs with a longer sentence on a side are left out of training; the end symbol does not"
        " count",
        unit="tokens",
        minimum=1,
    )
    batching: str = option(
        "paper",
        "paper: 20 batches of random pairs are sorted by length and cut, shortest first; bucketed:"
        " pairs of similar length together, the batches in random order; unsorted: random pairs",
        choices=("paper", "bucketed", "unsorted"),
    )
    batch_size: int = option(80, "sentence pairs per update", unit="pairs", minimum=1)

    def __post_init__(self) -> None:
        if self.corpus != "files" and self.train_source:
            raise UsageError(
                f"data.train_source: expected none beside data.corpus={self.corpus}, got"
                f" {self.train_source}; set data.corpus=files"
            )

    @property
    def holds_out(self) -> bool:
        """Whether development pairs are taken out of the training text."""
        named = self.development_source or self.development_target
        return self.held_out > 0 and self.corpus == "files" and not named
