"""The options of the data section; ``options.py`` has the others."""

from __future__ import annotations

import dataclasses

from rnnsearch_tf.config.option import option
from rnnsearch_tf.errors import UsageError


@dataclasses.dataclass(frozen=True)
class CorpusConfig:
    """One of several training texts."""

    source: str | tuple[str, ...] | None = option(
        None, "source side: a file or a list of files, like train_source"
    )
    target: str | tuple[str, ...] | None = option(None, "target side")
    weight: float = option(
        1.0,
        "how often an epoch reads it; 0.25: a quarter of the pairs, sampled anew for each epoch",
        above=0.0,
    )

    def __post_init__(self) -> None:
        for side in ("source", "target"):
            if getattr(self, side) is None and (self.source or self.target):
                raise UsageError(
                    f"{side}: expected a text file, got none; every corpus has a source and a"
                    " target"
                )


@dataclasses.dataclass(frozen=True)
class DataConfig:
    """Sources of the sentence pairs, and batching."""

    corpus: str = option(
        "files",
        "files: the files named below; phrasebook: the built-in corpus",
        choices=("files", "phrasebook"),
    )
    folder: str | None = option(
        None,
        "folder that the files below are relative to; null: the current folder",
        only_with={"corpus": ("files",)},
    )
    train_source: str | tuple[str, ...] | None = option(
        None,
        "training text, source side, one sentence a line, plain or .gz: a file, or a list such as"
        " [a.en, b.en.gz]",
        only_with={"corpus": ("files",)},
    )
    train_target: str | tuple[str, ...] | None = option(
        None,
        "training text, target side; as many files",
        only_with={"corpus": ("files",)},
    )
    corpora: tuple[CorpusConfig, ...] | None = option(
        None,
        "instead of train_source and train_target: a list of several training texts, each with"
        " source, target and weight, such as {source: back-translated.en.gz, target: news.de.gz,"
        " weight: 0.5}",
        only_with={"corpus": ("files",)},
    )
    development_source: str | None = option(
        None,
        "development text, source side",
        only_with={"corpus": ("files",)},
    )
    development_target: str | None = option(
        None,
        "development text, target side",
        only_with={"corpus": ("files",)},
    )
    held_out: int = option(
        0,
        "if no development files are named: approximate number of pairs to take out of the training"
        " text, or of the first of corpora, for development; training sees none of their sentences;"
        " 0: none",
        unit="pairs",
        minimum=0,
    )
    phrasebook_size: int = option(
        4_000,
        "training pairs of the built-in corpus, the first of 40,000",
        unit="pairs",
        minimum=10,
        maximum=40_000,
        only_with={"corpus": ("phrasebook",)},
    )
    maximum_source_length: int = option(
        50,
        "longer sentences are left out of training; the end symbol does not count",
        unit="tokens",
        minimum=1,
    )
    maximum_target_length: int = option(
        50,
        "the same for the target side",
        unit="tokens",
        minimum=1,
    )
    on_bad_line: str = option(
        "error",
        "for invalid UTF-8, an empty line, or a line without a partner: error: stop; skip: skip,"
        " count and report it",
        choices=("error", "skip"),
        only_with={"corpus": ("files",)},
    )
    batching: str = option(
        "paper",
        "paper: read 20 batches of pairs, sort them by length, cut them, shortest first; bucketed:"
        " pairs of similar length; unsorted: in the order that they are read",
        choices=("paper", "bucketed", "unsorted"),
    )
    batch_size: int = option(80, "sentence pairs per update", unit="pairs", minimum=1)
    batches_read_ahead: int = option(
        20,
        "batches sorted together with batching: paper",
        unit="batches",
        minimum=1,
        only_with={"batching": ("paper",)},
    )
    bucket_width: int = option(
        2,
        "number of lengths that share a bucket with batching: bucketed",
        unit="tokens",
        minimum=1,
        only_with={"batching": ("bucketed",)},
    )
    shuffle_buffer: int = option(
        200_000,
        "pairs held in memory to shuffle an epoch; 0: keep the order of the files",
        unit="pairs",
        minimum=0,
    )
    shuffle_batches: int = option(
        0,
        "batches held to shuffle their order after sorting; 0: keep it, as the authors' program"
        " did",
        unit="batches",
        minimum=0,
    )
