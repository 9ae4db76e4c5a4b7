"""The configuration of a training that goes on from a trained model: its settings, with other text
or with more.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Sequence

from rnnsearch_tf.config import (
    Config,
    as_dictionary,
    default_of,
    load_config,
    named_options,
    saved_config,
)
from rnnsearch_tf.data.corpus import open_corpus, training_corpora, with_default_evaluations
from rnnsearch_tf.data.inspection.fitting import held_out_size
from rnnsearch_tf.data.shards import files_of
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.config.option import names_with
from rnnsearch_tf.config.data_options import DataConfig
from rnnsearch_tf.config.options import TrainingConfig
from rnnsearch_tf.runs.folder import Run


def continued_config(
    run: str | os.PathLike,
    path: str | os.PathLike | None = None,
    overrides: Sequence[str] = (),
    mix: float | None = None,
    workers: int = 1,
) -> Config:
    """The configuration of a RUN, with the values of a file and of overrides laid over it.

    A new training text takes the place of everything that names text in the RUN's configuration,
    its folder and its development text too. Where no new development text is named, one is held out
    of the new training text. Without one (``data.held_out=0``), the RUN's options of the
    evaluations are at their defaults.

    Args:
        run: path of the RUN folder.
        path: YAML file, or the name of a shipped configuration; None: none.
        overrides: strings ``section.key=value``.
        mix: the RUN's own training text is trained on too: so many of its pairs for one of the new
            text, before the length limits.
        workers: how many processes will train; for one, the RUN's ``training.worker_gradients`` is
            at its default.

    Raises:
        UserError: the RUN is not one, or its training text, which is to be mixed in, is gone.
        UsageError: an option of the model or of its texts is not as the RUN has it; or there is
            nothing to mix.
    """
    run = Run.open(run)
    before = saved_config(run.config)
    named = named_options(path, overrides)
    below = as_dictionary(before)
    training_text = names_with(DataConfig, "names_training_text")
    development_text = names_with(DataConfig, "names_development_text")
    new_text = named & {f"data.{name}" for name in training_text}
    if new_text:
        below["data"] |= {
            name: getattr(DataConfig, name)
            for name in ("folder", "train_alignments", *training_text, *development_text)
        }
        below["data"]["corpus"] = "phrase_table" if "data.phrase_table" in named else "files"
    limits = names_with(TrainingConfig, "limits_training")
    if named & {f"training.{name}" for name in limits}:  # the new one is meant without the other
        below["training"] |= dict.fromkeys(limits)
    if workers == 1:
        below["training"]["worker_gradients"] = default_of("training.worker_gradients")
    config = load_config(path, overrides, below=below)
    check_continues(config, before, run)
    text_in_files = config.data.corpus == "files" and config.data.prepared is None
    if new_text and text_in_files and not named & {f"data.{name}" for name in development_text}:
        config = _with_development_text(config)
    config = with_default_evaluations(config, named)
    if mix is None:
        return config
    if not new_text:
        raise UsageError(
            f"--mix: expected new text beside that of {run}, got none; name it, for example with"
            " --set data.train_source=F --set data.train_target=F"
        )
    return _mixed(config, before, run, mix)


def check_continues(config: Config, before: Config, run) -> None:
    """Raise UsageError where a training that goes on from a RUN has another architecture or makes
    other ids of text.

    Args:
        config: Config of the new training.
        before: Config of the RUN.
        run: the RUN's name in messages.
    """
    for section in ("source", "target", "model"):
        old, new = (dataclasses.asdict(getattr(c, section)) for c in (before, config))
        free = names_with(getattr(config, section), "free_of_weights")
        for key in old:
            if key not in free and old[key] != new[key]:
                raise UsageError(
                    f"{section}.{key}: expected {old[key]}, as {run} has it, got {new[key]}; a"
                    " training that goes on from a model keeps its architecture and its"
                    " vocabularies: leave the option out, or train anew without --from"
                )


def new_text(config: Config, before: Config):
    """The training pairs of the files that a RUN was not trained on; all of them where there are no
    others.

    Args:
        config: Config of the new training.
        before: Config of the RUN.

    Returns:
        list of Pairs.
    """
    corpora = open_corpus(config, "train").corpora
    known = {_paths(before.data, corpus) for corpus in training_corpora(before.data)}
    new = [
        pairs
        for (pairs, _), corpus in zip(corpora, training_corpora(config.data))
        if _paths(config.data, corpus) not in known
    ]
    return new or [pairs for pairs, _ in corpora]


def _with_development_text(config):
    """A part of the new text held out, and said."""
    first, _ = open_corpus(config, "train").corpora[0]
    size = held_out_size(first.check().kept)
    print(
        f"development text: none is named; about {size:,} pairs of {first.name('source')} are held"
        " out for it (data.held_out)",
        file=sys.stderr,
    )
    return _with_data(config, held_out=size)


def _mixed(config, before, run, times):
    """The RUN's own corpora behind the new ones, with weights that make `times` as many pairs of
    them an epoch.
    """
    for name, data in (("the new training text", config.data), (f"that of {run}", before.data)):
        if data.corpus != "files" or data.prepared is not None:
            found = (
                f"data.corpus={data.corpus}"
                if data.prepared is None
                else f"data.prepared={data.prepared}"
            )
            raise UsageError(
                f"--mix: expected {name} to be in text files, got {found}; train without --mix"
            )
    for path in (
        path
        for corpus in training_corpora(before.data)
        for side in _paths(before.data, corpus)
        for path in side
    ):
        if not os.path.exists(path):
            raise UserError(
                f"--mix: {path}: expected the text that {run} was trained on, got none of that"
                " name; go to the folder that it was trained in, or name the text where it is now"
                " in data.corpora, without --mix"
            )
    old, new = (_pairs_an_epoch(open_corpus(c, "train")) for c in (before, config))
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
        kept.append(
            dataclasses.replace(
                corpus, source=source, target=target, weight=float(f"{factor * corpus.weight:.4g}")
            )
        )
    if before.data.held_out:
        kept[0] = dataclasses.replace(kept[0], held_out=before.data.held_out)
    return _with_data(
        config,
        train_source=None,
        train_target=None,
        corpora=(*training_corpora(config.data), *kept),
    )


def _pairs_an_epoch(pairs):
    """How many pairs an epoch has, before the length limits."""
    pairs.check()
    return sum(other.report.kept * weight for other, weight in pairs.corpora)


def _paths(data, corpus):
    """The absolute paths of a corpus's files, whether or not they are still there: a tuple of them
    for each side.
    """
    sides = (files_of(data, getattr(corpus, side)) for side in ("source", "target"))
    return tuple(tuple(map(os.path.abspath, paths)) for paths in sides)


def _with_data(config, **changes):
    return dataclasses.replace(config, data=dataclasses.replace(config.data, **changes))
