"""Which options name the training text, and that one way of naming it is used at a time."""

from __future__ import annotations

from rnnsearch_tf.errors import UsageError


def names_development_text(data) -> bool:
    """Whether a DataConfig names a development text; yes of a prepared corpus, which may have one.
    Opens no file.
    """
    named = data.development_source or data.development_target or data.held_out or data.prepared
    return data.corpus == "phrasebook" or bool(named)


def check_training_text(data) -> None:
    """Raise UsageError where a DataConfig names training text in two ways.

    Args:
        data: DataConfig.
    """
    if data.held_out and (
        data.corpus != "files" or data.development_source or data.development_target
    ):
        raise UsageError(
            "data.held_out: takes a development text out of the training files, where no"
            f" development files are named; got data.corpus={data.corpus},"
            f" data.development_source={data.development_source}; set data.held_out=0"
        )
    files = ("train_source", "train_target")
    _check_alone(
        data,
        "prepared",
        (*files, "corpora", "held_out"),
        "it says what `rnnsearch prepare` reads: for training",
    )
    _check_alone(data, "corpora", files, "put them into the list, or")
    for number, corpus in enumerate(data.corpora or (), start=1):
        if corpus.source is None:
            raise UsageError(
                f"data.corpora: entry {number}: expected source and target, got neither"
            )


def check_guided_alignment(config) -> None:
    """Raise UsageError where a Config asks for guided alignment without links.

    Args:
        config: Config.
    """
    data = config.data
    name = "training.guided_alignment_weight"
    # which has its own links
    if not config.training.guided_alignment_weight or data.corpus == "phrasebook":
        return
    for other in ("phrase_table", "corpora", "prepared"):
        if getattr(data, other) is not None:
            raise UsageError(
                f"{name}: needs one training text in files, with its links, got data.{other}; set"
                " it to 0, or name data.train_source"
            )
    if data.train_alignments is None:
        raise UsageError(
            f"{name}: expected data.train_alignments beside it, links of the training text's words,"
            " got none; set it, or the weight to 0"
        )


def check_sampling(config) -> None:
    """Raise UsageError where a Config draws subwords of text that is ids already."""
    for side in ("source", "target"):
        text = getattr(config, side)
        if text.sampling is not None and config.data.prepared is not None:
            raise UsageError(
                f"{side}.sampling: draws other pieces every time, and"
                f" data.prepared={config.data.prepared} has ids, which stay; set"
                f" {side}.sampling=null, or train from the text"
            )


def _check_alone(data, name, others, hint):
    """An option that stands in place of others; a prepared corpus has its held-out text with it."""
    if getattr(data, name) is None:
        return
    for other in others:
        if value := getattr(data, other):
            default = 0 if other == "held_out" else "null"
            raise UsageError(
                f"data.{name}: expected no data.{other} beside it, got {value}; {hint} set"
                f" data.{other}={default}"
            )
