"""Checks of the options that name the training and the development text."""

from __future__ import annotations

from rnnsearch_tf.config.data_options import DataConfig
from rnnsearch_tf.errors import UsageError


def names_development_text(data: DataConfig) -> bool:
    """Whether the options name a development text. Opens no file."""
    named = data.development_source or data.development_target or data.held_out
    return data.corpus == "phrasebook" or bool(named)


def check_training_text(data: DataConfig) -> None:
    """Raise UsageError if the options name development text in two ways."""
    if data.held_out and (
        data.corpus != "files" or data.development_source or data.development_target
    ):
        side = "source" if data.development_source else "target"
        raise UsageError(
            "data.held_out: takes a development text out of the training files, if no"
            f" development files are named; got data.corpus={data.corpus}, data.development_{side}="
            f"{getattr(data, f'development_{side}')}; set data.held_out=0"
        )
