"""Which options name the training text, and that one way of naming it is used at a time."""

from __future__ import annotations

from rnnsearch_tf.errors import UsageError

TRAINING_TEXT = ("corpus", "train_source", "train_target", "corpora", "phrase_table", "prepared")
"""Options of the data section that name a training text."""


def check_training_text(data) -> None:
    """Raise UsageError where a DataConfig names training text in two ways.

    Args:
        data: DataConfig.
    """
    if data.held_out and (data.corpus != "files" or data.development_source or data.development_target):
        raise UsageError(
            "data.held_out: takes a development text out of the training files, where no development files are named; "
            f"got data.corpus={data.corpus}, data.development_source={data.development_source}; set data.held_out=0"
        )
    if data.prepared is not None:
        _check_prepared(data)
    if data.corpora is None:
        return
    if data.corpus != "files":
        raise UsageError(f"data.corpora: has no part in data.corpus={data.corpus}; set data.corpus=files")
    if data.train_source or data.train_target:
        raise UsageError(
            "data.corpora: expected no data.train_source and data.train_target beside it, got "
            f"{data.train_source} and {data.train_target}; put them into the list, or set them to null"
        )
    for number, corpus in enumerate(data.corpora, start=1):
        if corpus.source is None:
            raise UsageError(f"data.corpora: entry {number}: expected source and target, got neither")


def _check_prepared(data):
    """A prepared corpus stands in place of all text, and has its held-out text with it."""
    if data.corpus != "files":
        raise UsageError(f"data.prepared: has no part in data.corpus={data.corpus}; set data.corpus=files")
    for name in ("train_source", "train_target", "corpora", "held_out"):
        if getattr(data, name):
            raise UsageError(
                f"data.prepared: expected no data.{name} beside it, got {getattr(data, name)}; it says what `rnnsearch prepare` reads: "
                f"set data.{name}={0 if name == 'held_out' else 'null'} for training"
            )
