"""Checks of the options that name the training and the development text."""

from __future__ import annotations

from rnnsearch_tf.config.data_options import DataConfig
from rnnsearch_tf.errors import UsageError


def names_development_text(data: DataConfig) -> bool:
    """Whether the options name a development text; true for a prepared corpus, which may contain
    one. Opens no file.
    """
    named = data.development_source or data.development_target or data.held_out or data.prepared
    return data.corpus == "phrasebook" or bool(named)


def check_training_text(data: DataConfig) -> None:
    """Raise UsageError if the options name training text in two ways."""
    if data.held_out and (
        data.corpus != "files" or data.development_source or data.development_target
    ):
        side = "source" if data.development_source else "target"
        raise UsageError(
            "data.held_out: takes a development text out of the training files, if no"
            f" development files are named; got data.corpus={data.corpus}, data.development_{side}="
            f"{getattr(data, f'development_{side}')}; set data.held_out=0"
        )
    files = ("train_source", "train_target")
    _check_alone(
        data,
        "prepared",
        (*files, "corpora", "held_out"),
        "it names input of `rnnsearch prepare`; for training",
    )
    _check_alone(data, "corpora", files, "put them into the list, or")
    for number, corpus in enumerate(data.corpora or (), start=1):
        if corpus.source is None:
            raise UsageError(
                f"data.corpora: entry {number}: expected source and target, got neither"
            )


def check_guided_alignment(data: DataConfig, weight: float) -> None:
    """Raise UsageError if guided alignment is on, with a weight other than 0, but has no links."""
    name = "training.guided_alignment_weight"
    # the phrasebook has its own links
    if not weight or data.corpus == "phrasebook":
        return
    for other in ("phrase_table", "corpora", "prepared"):
        if getattr(data, other) is not None:
            raise UsageError(
                f"{name}: needs one training text in files, with its links, got data.{other}; set"
                " it to 0, or name data.train_source"
            )
    if data.train_alignments is None:
        raise UsageError(
            f"{name}: expected data.train_alignments, links of the training text's words, got none;"
            " set it, or the weight to 0"
        )


def _check_alone(data: DataConfig, name: str, others: tuple[str, ...], hint: str) -> None:
    """Raise UsageError if an option is set together with one that it replaces. A prepared corpus
    contains its held-out text.
    """
    if getattr(data, name) is None:
        return
    for other in others:
        if value := getattr(data, other):
            default = 0 if other == "held_out" else "null"
            raise UsageError(
                f"data.{name}: expected no data.{other} beside it, got {value}; {hint} set"
                f" data.{other}={default}"
            )
