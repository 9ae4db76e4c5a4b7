"""From the files of another program to a RUN."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rnnsearch_tf.config.yaml_files import read_yaml
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.extras.importing import (
    groundhog,
    joeynmt,
    marian,
    nematus,
    opennmt_tf,
    tensorflow_nmt,
)
from rnnsearch_tf.extras.importing.foreign import ForeignModel, built, parameter_counts
from rnnsearch_tf.extras.importing.vocabularies import (
    read_dictionary,
    read_text,
    read_vocabulary,
    read_words,
)
from rnnsearch_tf.translation.saving import check_new_folder, save_model
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
    check_new_folder(output)
    foreign = describe(program, files)
    model, source, target, config = built(foreign, overrides)
    names = ", ".join(pathlib.Path(path).name for path in files)
    origin = {
        "trained by": f"{foreign.program}; imported from {names}",
        "best development BLEU": "not recorded; `rnnsearch evaluate` measures the model",
    }
    save_model(output, model, source, target, config, origin)
    translator = Translator(model, source, target, config)
    return translator, [*foreign.found, *parameter_counts(foreign, model)]


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
    read: Callable[..., ForeignModel],
    is_option: Callable[[Mapping[Any, Any]], bool],
    example: str,
    endings: Sequence[str] = (".npz",),
) -> Callable[[Sequence[AnyPath]], ForeignModel]:
    """A reader of weights, in a file with one of these endings, and options and vocabularies as
    dictionaries.
    """

    def sort(files: Sequence[AnyPath]) -> ForeignModel:
        weights = [path for path in files if pathlib.Path(path).suffix in endings]
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


def _by_ending(
    read: Callable[..., ForeignModel],
    endings: Sequence[str],
    read_options: Callable[[AnyPath], Any],
    example: str,
) -> Callable[[Sequence[AnyPath]], ForeignModel]:
    """A reader of weights, options and two vocabularies with a word in each line.

    Args:
        read: takes the path of the weights, (path, contents) of the options, and (path, lines) of
            the vocabularies.
        endings: ends of the names of weights and options; the other two files are vocabularies.
        read_options: reads the options.
        example: names of such files.
    """

    def sort(files: Sequence[AnyPath]) -> ForeignModel:
        weights, options = ([path for path in files if str(path).endswith(end)] for end in endings)
        vocabularies = [path for path in files if path not in (*weights, *options)]
        if (len(weights), len(options), len(vocabularies)) != (1, 1, 2):
            raise UsageError(
                "expected weights, options and the vocabularies of source and target, such as"
                f" {example}, got {', '.join(map(str, files))}"
            )
        lines = [(path, read_vocabulary(path)) for path in vocabularies]
        return read(weights[0], (options[0], read_options(options[0])), lines)

    return sort


def _of_marian(files: Sequence[AnyPath]) -> ForeignModel:
    """Weights with their options, and one or two vocabularies."""
    weights = [path for path in files if pathlib.Path(path).suffix == ".npz"]
    vocabularies = [path for path in files if path not in weights]
    if len(weights) != 1 or len(vocabularies) not in (1, 2):
        raise UsageError(
            "expected weights and the vocabularies of source and target, such as model.npz"
            " vocab.en.yml vocab.fr.yml, or one vocabulary of both, got"
            f" {', '.join(map(str, files))}"
        )
    return marian.read(weights[0], [(path, read_words(path)) for path in vocabularies])


READERS: dict[str, Callable[[Sequence[AnyPath]], ForeignModel]] = {
    "groundhog": _with_dictionaries(
        groundhog.read,
        lambda tree: "rank_n_approx" in tree and "dim" in tree,
        "search_model.npz search_state.pkl vocab.en.pkl vocab.fr.pkl",
    ),
    "nematus": _with_dictionaries(
        nematus.read,
        lambda tree: (
            {"dim_word", "encoder"} <= set(tree) or {"embedding_size", "state_size"} <= set(tree)
        ),
        "model.npz model.npz.json vocab.en.json vocab.fr.json (or model-5000.index model.json …)",
        (".npz", ".index"),
    ),
    "marian": _of_marian,
    "joeynmt": _by_ending(
        joeynmt.read,
        (".ckpt", ".yaml"),
        read_yaml,
        "best.ckpt config.yaml src_vocab.txt trg_vocab.txt",
    ),
    "opennmt-tf": _by_ending(
        opennmt_tf.read,
        (".index", ".py"),
        read_text,
        "ckpt-5000.index model_description.py src.vocab tgt.vocab",
    ),
    "tensorflow-nmt": _by_ending(
        tensorflow_nmt.read,
        (".index", "hparams"),
        read_dictionary,
        "translate.ckpt-12000.index hparams vocab.en vocab.de",
    ),
}
"""{program: function from its files to a ForeignModel}."""
