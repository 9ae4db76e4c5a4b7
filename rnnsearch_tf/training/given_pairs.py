"""Pairs that are held in Python as the training text of a RUN: they are written into it, so that
the training can be resumed like any other.
"""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from rnnsearch_tf.config import Config, DataConfig, saved_config
from rnnsearch_tf.data.pairs import SIDES, Pairs, as_pairs
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.files.atomic import make_folder, replacing
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.runtime.progress import say
from rnnsearch_tf.text.vocabulary import batches


def naming_given(config: Config, run: Run, given: dict[str, Any], resume: bool) -> Config:
    """The configuration that names the given pairs as files of the RUN, or, if it is resumed, those
    that it was given.

    Args:
        config: the configuration, which names no other text of these parts.
        given: {"train": pairs, "development": pairs}; None: none are given.
        resume: whether the training is resumed, with the pairs that the RUN has.

    Raises:
        UsageError: the configuration names such a text too, the training is resumed, or the corpora
            of a mixture have weights.
    """
    if resume and any(pairs is not None for pairs in given.values()):
        raise UsageError(
            f"train: expected resume or pairs, got both; {run} has the pairs that it was started"
            " with: leave pairs and development out"
        )
    names = {
        "train": ("train_source", "train_target", "corpora"),
        "development": ("development_source", "development_target", "held_out"),
    }
    if isinstance(given["train"], Pairs):
        weights = [f"{weight:g}" for _, weight in given["train"].corpora]
        if set(weights) != {"1"}:
            raise UsageError(
                "train: expected pairs without weights, got corpora of weight"
                f" {', '.join(weights)}; name them in data.corpora, and leave pairs out"
            )
    saved = resume and run.config.exists()
    before = saved_config(run.config).data if saved else DataConfig()
    data = config.data
    for part, pairs in given.items():
        paths: dict[str, Any] = {
            f"{part}_{side}": os.path.abspath(run.given_text(part, side)) for side in SIDES
        }
        written = getattr(before, f"{part}_source") == paths[f"{part}_source"]
        if part == "development" and (pairs is not None or written) and data.held_out:
            say(f"data.held_out={data.held_out} is not used, as development is given")
            data = dataclasses.replace(data, held_out=0)
        others = [f"data.{name}" for name in names[part] if getattr(data, name)]
        without = [f"{name}={0 if name == 'data.held_out' else 'null'}" for name in others]
        if data.corpus != "files":
            others.append(f"data.corpus={data.corpus}")
            without.append("data.corpus=files")
        if pairs is None and (others or not written):
            continue
        if others:
            argument = "pairs" if part == "train" else part
            raise UsageError(
                f"train: expected no text in the configuration beside {argument}, got"
                f" {', '.join(others)}; leave {argument} out, or load the configuration with"
                f" overrides={without}"
            )
        data = dataclasses.replace(data, **paths)
    return dataclasses.replace(config, data=data)


def write_given(run: Run, given: dict[str, Any], on_bad_line: str) -> None:
    """Write the good pairs to the files that :func:`naming_given` names; a line break in a text
    becomes a space.

    Args:
        given: as of :func:`naming_given`.
        on_bad_line: "error" or "skip", for an empty text.

    Raises:
        UserError: a bad pair, no pair, or the disk is full.
        UsageError: what is given are no pairs.
    """
    for part, pairs in given.items():
        if pairs is None:
            continue
        paths = [run.given_text(part, side) for side in SIDES]
        make_folder(paths[0].parent)
        lines = as_pairs(pairs, on_bad_line).lines()
        with replacing(paths[0]) as source, replacing(paths[1]) as target:
            with open(source, "wb") as sources, open(target, "wb") as targets:
                for batch in batches(lines):
                    for file, side in zip((sources, targets), zip(*batch)):
                        file.writelines(_one_line(text) for text in side)


def _one_line(text: bytes) -> bytes:
    return b" ".join(text.splitlines()) + b"\n"
