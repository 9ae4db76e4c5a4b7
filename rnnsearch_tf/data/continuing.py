"""The configuration of a training that starts from a trained model: its settings, with other or
additional text.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Sequence
from typing import Any

from rnnsearch_tf.config import (
    Config,
    CorpusConfig,
    as_dictionary,
    load_config,
    named_options,
    saved_config,
)
from rnnsearch_tf.data.corpus import open_corpus, training_corpora, with_default_evaluations
from rnnsearch_tf.data.inspection.fitting import held_out_size
from rnnsearch_tf.data.pairs import Pairs, as_pairs
from rnnsearch_tf.data.shards import files_of
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files.reading import exists
from rnnsearch_tf.config.option import names_with
from rnnsearch_tf.config.data_options import DataConfig
from rnnsearch_tf.config.options import TrainingConfig
from rnnsearch_tf.runs.folder import Run

DEVELOPMENT_TEXT = names_with(DataConfig, "names_development_text")
TRAINING_TEXT = names_with(DataConfig, "names_training_text")
TEXTS = ("folder", "train_alignments", *TRAINING_TEXT, *DEVELOPMENT_TEXT)
"""Options of the data section that name text."""


def continued_config(
    run: str | os.PathLike[str],
    path: str | os.PathLike[str] | None = None,
    overrides: Sequence[str] = (),
    mix: float | None = None,
    pairs: Any = None,
) -> Config:
    """The configuration of a RUN, changed by the values of a file and of overrides.

    A new training text replaces all options that name text in the RUN's configuration, including
    the folder and the development text. If no new development text is named, one is held out of the
    new training text; with ``data.held_out=0`` there is none, and the options of the evaluations
    are reset to their defaults.

    Args:
        run: path of the RUN folder.
        path: YAML file, or the name of a shipped configuration, or None.
        overrides: strings ``section.key=value``.
        mix: also train on the RUN's own training text, with this many of its pairs for each new
            pair, before the length limits.
        pairs: the new training text, if :func:`train` is given it as ``pairs``: Pairs, or what
            ``Pairs(pairs)`` takes; a generator is read to its end, so make Pairs of it first.

    Raises:
        UserError: the folder is not a RUN, or the RUN's training text, needed for `mix`, is gone.
        UsageError: an option of the model or of its texts differs from the RUN; or `mix` is given
            without new text.
    """
    trained = Run.open(run)
    before = saved_config(trained.config)
    named = named_options(path, overrides)
    below = as_dictionary(before)
    new_text = named & {f"data.{name}" for name in TRAINING_TEXT}
    if new_text or pairs is not None:
        below["data"] |= {name: getattr(DataConfig, name) for name in TEXTS}
        below["data"]["corpus"] = "phrase_table" if "data.phrase_table" in named else "files"
    limits = names_with(TrainingConfig, "limits_training")
    if named & {f"training.{name}" for name in limits}:  # a new limit replaces the RUN's limits
        below["training"] |= dict.fromkeys(limits)
    config = load_config(path, overrides, below=below)
    check_continues(config, before, trained)
    text_in_files = config.data.corpus == "files" and config.data.prepared is None
    needs_development = pairs is not None or (new_text and text_in_files)
    if needs_development and not named & {f"data.{name}" for name in DEVELOPMENT_TEXT}:
        config = _with_development_text(config, pairs)
    config = with_default_evaluations(config, named)
    if mix is None:
        return config
    if not new_text:
        raise UsageError(
            f"--mix: expected new text beside that of {trained}, got none; name it, for example"
            " with --set data.train_source=F --set data.train_target=F"
        )
    return _mixed(config, before, trained, mix)


def check_continues(config: Config, before: Config, run: Run | str) -> None:
    """Raise UsageError if a training that starts from a RUN has another architecture or converts
    text to other ids.

    Args:
        config: Config of the new training.
        before: Config of the RUN.
        run: the RUN, for messages.
    """
    for section in ("source", "target", "model"):
        old, new = (dataclasses.asdict(getattr(c, section)) for c in (before, config))
        free = names_with(getattr(config, section), "free_of_weights")
        for key in old:
            if key not in free and old[key] != new[key]:
                raise UsageError(
                    f"{section}.{key}: expected {old[key]} as in {run}, got {new[key]}; a training"
                    " that starts from a model keeps its architecture and vocabularies: leave the"
                    " option out, or train from scratch without --from"
                )


def new_pairs(config: Config, before: Config) -> list[Pairs]:
    """The corpora of a training that a RUN, whose Config is `before`, was not trained on; all of
    them if there are none.
    """
    corpora = open_corpus(config, "train").corpora
    known = {_paths(before.data, corpus) for corpus in training_corpora(before.data)}
    new = [
        pairs
        for (pairs, _), corpus in zip(corpora, training_corpora(config.data))
        if _paths(config.data, corpus) not in known
    ]
    return new or [pairs for pairs, _ in corpora]


def _with_development_text(config: Config, given: Any) -> Config:
    """Hold out a development text of the new training text, and print a note about it. `given` is
    the text, if it is held in Python; None: the configuration names it.
    """
    pairs = (
        open_corpus(config, "train") if given is None else as_pairs(given, config.data.on_bad_line)
    )
    first, _ = pairs.corpora[0]
    of = f"pairs of {first.name('source')}" if given is None else "of the given pairs"
    size = held_out_size(first.check().kept)
    print(
        f"development text: none is named; about {size:,} {of} are held out for it (data.held_out)",
        file=sys.stderr,
    )
    return _with_data(config, held_out=size)


def _mixed(config: Config, before: Config, run: Run, times: float) -> Config:
    """Add the RUN's corpora after the new ones, weighted so that an epoch has `times` as many pairs
    of them.
    """
    for name, data in (("the new training text", config.data), (f"that of {run}", before.data)):
        if data.corpus != "files" or data.prepared is not None:
            option = "corpus" if data.prepared is None else "prepared"
            found = f"data.{option}={getattr(data, option)}"
            raise UsageError(
                f"--mix: expected {name} to be in text files, got {found}; train without --mix"
            )
    for corpus in training_corpora(before.data):
        for path in (path for side in _paths(before.data, corpus) for path in side):
            if not exists(path):
                raise UserError(
                    f"--mix: {path}: expected the text that {run} was trained on, found no such"
                    " file; run this in the folder where it was trained, or name the text in"
                    " data.corpora, without --mix"
                )
    old, new = (_pairs_per_epoch(open_corpus(c, "train")) for c in (before, config))
    factor = times * new / old
    print(
        f"mixed: in an epoch {new:,.0f} pairs of the new text and {times * new:,.0f} of the"
        f" {old:,.0f} that {run} was trained on",
        file=sys.stderr,
    )
    kept = []
    for corpus in training_corpora(before.data):
        source, target = (
            paths[0] if len(paths) == 1 else paths for paths in _paths(before.data, corpus)
        )
        weight = float(f"{factor * corpus.weight:.4g}")
        kept.append(dataclasses.replace(corpus, source=source, target=target, weight=weight))
    if before.data.held_out:
        kept[0] = dataclasses.replace(kept[0], held_out=before.data.held_out)
    corpora = (*training_corpora(config.data), *kept)
    return _with_data(config, train_source=None, train_target=None, corpora=corpora)


def _pairs_per_epoch(pairs: Pairs) -> float:
    """The number of pairs of an epoch, before the length limits."""
    pairs.check()
    return sum(corpus.check().kept * weight for corpus, weight in pairs.corpora)


def _paths(data: DataConfig, corpus: CorpusConfig) -> tuple[tuple[str, ...], ...]:
    """The absolute paths of the files of each side of a corpus; they need not exist."""
    sides = (files_of(data, getattr(corpus, side)) for side in ("source", "target"))
    return tuple(tuple(map(os.path.abspath, paths)) for paths in sides)


def _with_data(config: Config, **changes: Any) -> Config:
    return dataclasses.replace(config, data=dataclasses.replace(config.data, **changes))
