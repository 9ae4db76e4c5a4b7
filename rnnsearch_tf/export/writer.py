"""Export a trained model: write a version under a temporary name, check it, then publish it."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from rnnsearch_tf import __version__
from rnnsearch_tf.config import load_config, save_config
from rnnsearch_tf.export.check import check_export
from rnnsearch_tf.export.profile import PROFILE_FILE, Profile, load_profile
from rnnsearch_tf.export.publishing import ABOUT, version_folder
from rnnsearch_tf.export.signatures import saved_module, signatures_of
from rnnsearch_tf.export.warmup import sentences_of, write_warmup
from rnnsearch_tf.export.weights import StoredWeights
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.atomic import new_folder, write_file
from rnnsearch_tf.files.reading import read_lines
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.translation import Translator
from rnnsearch_tf.translation.functions import TextFunctions
from rnnsearch_tf.translation.loading import Paths, paths_of

MOST_EXAMPLES = 50
"""The server's page offers a button for each example."""


@dataclasses.dataclass(frozen=True)
class Exported:
    """Result of an export."""

    folder: pathlib.Path  # of the version, OUTPUT/N
    bytes: int  # of its stored weights, or of the one file
    compared: int  # answers; 0 for an ONNX file with small weights, which change answers


def export_model(
    runs: Paths,
    output: AnyPath,
    version: int | None = None,
    profile: AnyPath | None = None,
    overrides: Sequence[str] = (),
) -> Exported:
    """Export a run, or an ensemble of several, as a version of a served model.

    Args:
        runs: path of the run folder, or a list of them.
        output: path of the model's folder, in which versions are numbered folders.
        version: number of the version; None takes the one after the highest.
        profile: path of a YAML profile; None takes the defaults.
        overrides: strings ``key=value`` that override the profile.

    Raises:
        UserError: a run is incomplete, the version exists, or the exported model's answers in a new
            process differ; nothing is published then.
        UsageError: the profile has unknown or impossible options.
    """
    folders, options, translator = load_for_export(runs, profile, overrides)
    target = version_folder(output, version)
    weights = StoredWeights(translator.model.weights, options.weights)
    functions = TextFunctions(
        translator.model,
        translator.source_text,
        translator.target_text,
        options.search,
        options.nbest,
        options.maximum_length,
        weights.tensors,
    )
    sentences = sentences_of(translator.source_text)
    with new_folder(target) as folder:
        tf.saved_model.save(
            saved_module(functions, weights),
            str(folder),
            signatures=signatures_of(functions, options.signatures),
            # a server does not train
            options=tf.saved_model.SaveOptions(experimental_custom_gradients=False),
        )
        write_warmup(folder, options.signatures, sentences, options.warmup_requests)
        about = json.dumps(about_model(translator, folders[0]), ensure_ascii=False)
        (folder / ABOUT).parent.mkdir(exist_ok=True)
        write_file(folder / ABOUT, about)
        compared = check_export(folder, functions, options.signatures, sentences)
        save_config(options, folder / PROFILE_FILE)
        exported = Exported(target, weights.size, compared)
        write_card(folder, folders, options, exported)
    return exported


def load_for_export(
    runs: Paths, profile: AnyPath | None, overrides: Sequence[str]
) -> tuple[list[Run], Profile, Translator]:
    """(run folders, at least one; profile; Translator with its precision)."""
    folders = [Run.open(path) for path in paths_of(runs)]
    options = load_profile(load_config(folders[0].config).search, profile, overrides)
    translator = Translator.load(folders, [f"training.precision={options.precision}"])
    translator.require_translations("export")
    if options.search.replace_unknown:
        translator.require_attention("search.replace_unknown")
    return folders, options, translator


def about_model(translator: Translator, run: Run) -> dict[str, Any]:
    """What an export says of its model, see ABOUT; the examples are those of a run."""
    examples = read_lines(run.examples) if run.examples.exists() else []
    sides = translator.config.source, translator.config.target
    return {
        "source": sides[0].language,
        "target": sides[1].language,
        "tokenization": [side.tokenization for side in sides],
        "lowercase": [side.lowercase for side in sides],
        "attention": translator.has_attention,
        "examples": [line for line in examples if line.strip()][:MOST_EXAMPLES],
    }


def write_card(
    folder: pathlib.Path, runs: Sequence[Run], profile: Profile, exported: Exported
) -> None:
    """Write the model card: the cards of the runs, and what was exported."""
    cards = [run.model_card.read_text("utf-8") for run in runs if run.model_card.exists()]
    rows = [
        f"- weights: {exported.bytes:,} bytes, {profile.weights}; computed in {profile.precision}",
        f"- options: see {PROFILE_FILE} in this folder",
        f"- made with rnnsearch_tf {__version__}, tensorflow {tf.__version__}",
    ]
    if exported.compared:
        rows.append(f"- compared with the run before it was published: {exported.compared} answers")
    text = "\n".join([*cards, "## Export", "", *rows, ""])
    write_file(folder / "model_card.md", text)
