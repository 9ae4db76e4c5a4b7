"""Export a RUN: write a version under a temporary name, check it, then publish it."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Iterable, Sequence

import tensorflow as tf

from rnnsearch_tf import __version__
from rnnsearch_tf.config import load_config, save_config
from rnnsearch_tf.export.about import write_about
from rnnsearch_tf.export.check import check_export
from rnnsearch_tf.export.profile import FILE as PROFILE, Profile, load_profile
from rnnsearch_tf.export.publishing import new_version, version_folder
from rnnsearch_tf.export.signatures import INPUTS, Served
from rnnsearch_tf.export.warmup import sentences_of, write_warmup
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.translation import Translator
from rnnsearch_tf.translation.loading import Paths, listed


@dataclasses.dataclass(frozen=True)
class Exported:
    """Result of an export.

    Attributes:
        folder: path of the version, ``OUTPUT/N``.
        bytes: size of its stored weights, or of the one file.
        compared: number of answers that were compared with the Python model's; 0 for an ONNX file
            with small weights, which change answers.
    """

    folder: pathlib.Path
    bytes: int
    compared: int


def export_model(
    runs: Paths,
    output: str | os.PathLike[str],
    version: int | None = None,
    profile: str | os.PathLike[str] | None = None,
    overrides: Sequence[str] = (),
) -> Exported:
    """Export a RUN, or an ensemble of several, as a version of a served model.

    Args:
        runs: path of the RUN folder, or a list of them.
        output: path of the model's folder, in which versions are numbered folders.
        version: number of the version; None takes the one after the highest.
        profile: path of a YAML profile; None takes the defaults.
        overrides: strings ``key=value`` that override the profile.

    Raises:
        UserError: a RUN is incomplete, the version exists, or the exported model's answers differ
            from the Python model's; nothing is published then.
        UsageError: the profile has unknown or impossible options.
    """
    folders = opened_runs(runs)
    options = load_profile(load_config(folders[0].config).search, profile, overrides)
    version_folder(output, version)  # fail early
    translator = loaded(folders, options)
    served = Served(translator, options)
    if options.weights != "float32":  # its answers are compared
        for variable, value in zip(translator.model.trainable_variables, served.weights.tensors()):
            variable.assign(value)
    sentences = sentences_of(translator.source_text)
    with new_version(output, version) as (target, folder):
        tf.saved_model.save(
            served.module(),
            str(folder),
            signatures=served.signatures(options.signatures),
            # a server does not train
            options=tf.saved_model.SaveOptions(experimental_custom_gradients=False),
        )
        inputs = {name: INPUTS[name] for name in options.signatures} | {
            "serving_default": INPUTS["translate"]
        }
        write_warmup(folder, inputs, sentences, options.warmup_requests)
        write_about(folder, folders[0])
        compared = check_export(folder, translator, options, sentences)
        save_config(options, folder / PROFILE)
        exported = Exported(target, served.weights.size, compared)
        (folder / "model_card.md").write_text(_card(folders, options, exported), encoding="utf-8")
    return exported


def opened_runs(runs: Paths) -> list[Run]:
    """The RUNs of an export: at least one."""
    return [Run.open(path) for path in listed(runs)]


def loaded(runs: Sequence[Run], profile: Profile) -> Translator:
    """The Translator of an export, with the precision, the limits and the search of its profile.

    Raises:
        UsageError: the model cannot be searched so.
    """
    translator = Translator.load(
        runs,
        [f"training.precision={profile.precision}"],
        maximum_lengths={
            "source": profile.maximum_source_length,
            "target": profile.maximum_target_length,
        },
    )
    search = translator.search_config(**dataclasses.asdict(profile.search))
    translator.config = dataclasses.replace(translator.config, search=search)
    return translator


def _card(runs: Sequence[Run], profile: Profile, exported: Exported) -> str:
    """The model card: the training, from the cards of the RUNs, and the export."""
    rows = [
        (
            f"signatures: {', '.join(profile.signatures)}; inputs and outputs are those of the"
            " project's export/contract.json"
        ),
        f"weights: {exported.bytes:,} bytes, {profile.weights}; computed in {profile.precision}",
        "options: see profile.yaml in this folder",
        (
            f"checked before it was published: {exported.compared} answers of a fresh session equal"
            " to the Python model's"
            + ("" if profile.precision == "float32" else ", but for texts that rounding changes")
        ),
        (
            f"made with rnnsearch_tf {__version__}, tensorflow {tf.__version__}; needs a server"
            " with tensorflow_text's operations if the text is normalized or cut into subwords"
            " (the stock server has them)"
        ),
    ]
    return card(runs, rows)


def card(runs: Sequence[Run], rows: Iterable[str]) -> str:
    """A model card: the cards of the RUNs, and rows on the export."""
    trained = "\n\n".join(
        run.model_card.read_text(encoding="utf-8").rstrip()
        for run in runs
        if run.model_card.exists()
    )
    return "\n".join(
        [trained or "# Model card", "", "## Export", "", *(f"- {row}" for row in rows), ""]
    )
