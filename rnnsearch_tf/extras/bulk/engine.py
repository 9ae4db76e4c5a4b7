"""The model that translates a corpus: a RUN, an ensemble or an exported model, loaded once by a
process.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rnnsearch_tf.config import SearchConfig, saved_config
from rnnsearch_tf.config.option import names_with
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.export.publishing import exported_version
from rnnsearch_tf.files.streams import check_readable_again
from rnnsearch_tf.runs.folder import Run, digest_of
from rnnsearch_tf.translation.loading import check_combine

Engine = Callable[[Sequence[str]], list[str | None]]
"""Translates texts; None for a text with more tokens than the model's maximum length."""

_FILES_OF_SEARCH = names_with(SearchConfig, "is_file")


def settings_of(
    models: Sequence[str | os.PathLike[str]],
    combine: str = "probabilities",
    search: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Settings of an engine that can be stored as JSON and are valid in any working directory.

    Args:
        models: paths or names, as for ``--model``.
        combine: how an ensemble's members are combined.
        search: options of the search section that differ from the model's.

    Raises:
        UserError: a model does not exist.
        UsageError: `combine` for a single model.
    """
    check_combine(len(models), combine)
    exported = exported_version(models[0]) if len(models) == 1 else None
    paths = [exported] if exported else [Run.open(model) for model in models]
    search = {
        name: os.path.abspath(value) if name in _FILES_OF_SEARCH and value is not None else value
        for name, value in (search or {}).items()
    }
    return {
        "models": [os.path.abspath(path) for path in paths],
        "combine": combine,
        "search": search,
    }


def identity_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that translations depend on: the digest of the model's files, and the options
    except the batch size.

    Raises:
        UserError: a word list is a pipe.
    """
    search = _files_named_by(settings["models"][0]) | {
        name: value for name, value in settings["search"].items() if name != "batch_size"
    }
    files = {name: search[name] for name in _FILES_OF_SEARCH if search.get(name) is not None}
    for file in files.values():
        check_readable_again(file)
    search |= {name: digest_of(file) for name, file in files.items()}
    return {"model": _digest(settings["models"]), "combine": settings["combine"], "search": search}


def _files_named_by(model):
    """{option: path} of the files named by a RUN's search section (an export contains them)."""
    search = None if exported_version(model) else saved_config(Run.open(model).config).search
    return {
        name: getattr(search, name)
        for name in _FILES_OF_SEARCH
        if getattr(search, name, None) is not None
    }


def load_engine(settings: Mapping[str, Any]) -> Engine:
    """Load the engine with settings from :func:`settings_of`.

    Raises:
        UserError: the settings have an ``identity``, of :func:`identity_of`, and the files are
            others now.
    """
    models = settings["models"]
    search = settings["search"]
    engine = (
        _of_export(models[0], search)
        if len(models) == 1 and exported_version(models[0])
        else _of_runs(models, settings["combine"], search)
    )
    if "identity" in settings and identity_of(settings) != settings["identity"]:
        raise UserError(
            f"{' and '.join(models)}: expected the model and word lists that the command began"
            " with, got others, written while they were loaded; wait until its training ends, or"
            " copy the RUN, and give the command again"
        )
    return engine


def _of_runs(models, combine, search):
    from rnnsearch_tf.export.opening import open_translator
    from rnnsearch_tf.runtime.cores import use_one_thread_per_op

    configs = [saved_config(Run.open(model).config) for model in models]
    use_one_thread_per_op([config.model for config in configs], configs[0].search.batch_size)
    translator = open_translator(models, combine)
    translator.search_config(**search)
    limit = translator.maximum_lengths["source"]

    def translate(texts):
        lengths = np.max(
            [text.tokenize(texts).row_lengths() for text in translator.source_texts], axis=0
        )
        fitting = [k for k, length in enumerate(lengths) if length <= limit]
        results = dict(zip(fitting, translator.translate([texts[k] for k in fitting], **search)))
        return [results[k].text if k in results else None for k in range(len(texts))]

    return translate


def _of_export(folder, search):
    from rnnsearch_tf.export.opening import open_translator

    translator = open_translator(folder)
    size = translator.search_config(**search).batch_size

    def translate(texts):
        by_length = sorted(range(len(texts)), key=lambda k: len(texts[k]))
        results = [None] * len(texts)
        for start in range(0, len(texts), size):
            rows = by_length[start : start + size]
            for row, text in zip(rows, translator.texts([texts[k] for k in rows])):
                results[row] = text
        return results

    return translate


def _digest(models):
    """The digest of all files of the models that translations depend on."""
    total = hashlib.sha256()
    for number, model in enumerate(models):
        for name, path in _files(model):
            total.update(f"{number} {name} {digest_of(path)}\n".encode())
    return total.hexdigest()


def _files(model):
    """[(name, path)] of a RUN or an exported version."""
    exported = exported_version(model)
    run = Run(model) if exported else Run.open(model)
    if exported:
        used = (
            path
            for path in exported.rglob("*")
            if "assets.extra" not in path.parts and path.suffix != ".md"
        )
    else:
        used = (run.config, *run.text_files(), run.best_weights, run.eight_bit_weights)
    return [
        (path.relative_to(exported or run.path).as_posix(), path)
        for path in sorted(used)
        if path.is_file()
    ]
