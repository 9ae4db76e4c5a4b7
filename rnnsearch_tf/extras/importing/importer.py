"""From the files of another program to a RUN."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rnnsearch_tf.config.yaml_files import read_yaml
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.extras.importing import groundhog, joeynmt, nematus
from rnnsearch_tf.extras.importing.foreign import ForeignModel, built, parameter_counts
from rnnsearch_tf.extras.importing.vocabularies import read_dictionary, read_vocabulary
from rnnsearch_tf.translation.saving import save_model
from rnnsearch_tf.translation.translator import Translator


def import_model(
    program: str, files: Sequence[AnyPath], output: AnyPath, overrides: Sequence[str] = ()
) -> tuple[Translator, list[str]]:
    """Write a model that another program trained as a RUN.

    Args:
        program: a key of :data:`READERS`.
        files: the files of the model, as the guide "Models of other programs" lists them.
        output: the folder to write; it must not exist, or be empty.
        overrides: ``NAME=VALUE`` of options, such as ``source.tokenization=moses``.

    Returns:
        (the imported Translator, lines that say what was found).

    Raises:
        UsageError: a file is missing or one too many, or an override is not valid.
        UserError: a file is damaged, the files do not belong together, or no system here computes
            what the model does; nothing was written.
    """
    foreign = describe(program, files)
    model, source, target, config = built(foreign, overrides)
    origin = {
        "trained by": f"{foreign.program}; imported from {', '.join(_names(files))}",
        "best development BLEU": "not recorded; `rnnsearch evaluate` measures the model",
    }
    save_model(output, model, source, target, config, origin)
    translator = Translator(model, source, target, config)
    return translator, [*foreign.found, *parameter_counts(foreign, model)]


def _names(files: Sequence[AnyPath]) -> list[str]:
    return [pathlib.Path(path).name for path in files]


def describe(program: str, files: Sequence[AnyPath]) -> ForeignModel:
    """Find out what the files of another program's model are.

    Args:
        program: a key of :data:`READERS`.
        files: its files, as the guide "Models of other programs" lists them.

    Raises:
        UsageError: a file is missing or one too many.
        UserError: a file is damaged, the files do not belong together, or no system here computes
            what the model does.
    """
    for path in files:
        if not os.path.exists(path):
            raise UserError(f"{path}: expected a file, found none; check the path")
    return READERS[program](files)


def _with_dictionaries(
    read: Callable[..., ForeignModel], is_option: Callable[[Mapping[Any, Any]], bool], example: str
) -> Callable[[Sequence[AnyPath]], ForeignModel]:
    """A reader of weights in an ``.npz`` file, and options and vocabularies as dictionaries."""

    def sort(files: Sequence[AnyPath]) -> ForeignModel:
        weights = [path for path in files if pathlib.Path(path).suffix == ".npz"]
        others = [(path, read_dictionary(path)) for path in files if path not in weights]
        options = [(path, tree) for path, tree in others if is_option(tree)]
        vocabularies = [entry for entry in others if entry not in options]
        if (len(weights), len(options), len(vocabularies)) != (1, 1, 2):
            raise UsageError(
                "expected weights, options and the vocabularies of source and target, such as"
                f" {example}, got {len(weights)} of weights, {len(options)} of options,"
                f" {len(vocabularies)} vocabularies in {', '.join(map(str, files))}"
            )
        return read(weights[0], options[0], vocabularies)

    return sort


def _joeynmt(files: Sequence[AnyPath]) -> ForeignModel:
    """A reader of Joey NMT's files, told apart by their endings."""
    kinds = {end: [path for path in files if pathlib.Path(path).suffix == end] for end in JOEY}
    if [len(paths) for paths in kinds.values()] != [1, 1, 2] or len(files) != 4:
        raise UsageError(
            "expected a checkpoint, a configuration and the vocabularies of source and target, such"
            " as best.ckpt config.yaml src_vocab.txt trg_vocab.txt, got"
            f" {', '.join(map(str, files))}"
        )
    (weights,), (config,), vocabularies = kinds.values()
    lines = [(path, read_vocabulary(path)) for path in vocabularies]
    return joeynmt.read(weights, (config, read_yaml(config)), lines)


JOEY = (".ckpt", ".yaml", ".txt")
"""Endings of the names of Joey NMT's files."""

READERS: dict[str, Callable[[Sequence[AnyPath]], ForeignModel]] = {
    "groundhog": _with_dictionaries(
        groundhog.read,
        lambda tree: "rank_n_approx" in tree and "dim" in tree,
        "search_model.npz search_state.pkl vocab.en.pkl vocab.fr.pkl",
    ),
    "nematus": _with_dictionaries(
        nematus.read,
        lambda tree: "dim_word" in tree and "encoder" in tree,
        "model.npz model.npz.json vocab.en.json vocab.fr.json",
    ),
    "joeynmt": _joeynmt,
}
"""{program: function from its files to a ForeignModel}."""
