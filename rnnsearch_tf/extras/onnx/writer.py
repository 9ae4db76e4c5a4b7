"""Export a RUN as ONNX: write ``DIR/N/model.onnx`` under a temporary name, check it, publish it."""

from __future__ import annotations

import math
import os
import pathlib
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from rnnsearch_tf import __version__
from rnnsearch_tf.config import END_ID, save_config, saved_config
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.export.check import LONG, TRICKY
from rnnsearch_tf.export.profile import FILE as PROFILE, Profile, load_profile
from rnnsearch_tf.export.publishing import new_version, version_folder
from rnnsearch_tf.export.quality import cost_sentence, development_pairs
from rnnsearch_tf.export.warmup import sentences_of
from rnnsearch_tf.export.writer import Exported, Runs, card, loaded, opened_runs
from rnnsearch_tf.runs.folder import ONNX_FILE, Run
from rnnsearch_tf.runtime.optional import require
from rnnsearch_tf.runtime.progress import announced
from rnnsearch_tf.search.graphs import search_graph
from rnnsearch_tf.search.unknown import Lexicon
from rnnsearch_tf.text.counting import Line
from rnnsearch_tf.text.pipeline import padded
from rnnsearch_tf.translation import Translator

LARGEST = 2**31 - 1
"""Bytes of float32 weights: the graph is converted as one protocol buffer, before they shrink."""

BATCH = 8


def export_onnx(
    runs: Runs,
    output: str | os.PathLike[str],
    version: int | None = None,
    profile: str | os.PathLike[str] | None = None,
    overrides: Sequence[str] = (),
    combine: str = "probabilities",
) -> Exported:
    """Export a RUN, or an ensemble of several, as one ONNX file.

    The file has the beam search as a graph, from source ids to n-best lists with attention, and in
    its metadata the text settings: the runtime in ``runtime/`` translates with it alone.

    Args:
        runs, output, version, profile, overrides, combine: as of
            :func:`~rnnsearch_tf.export.writer.export_model`; the file is OUTPUT/N/model.onnx.

    Raises:
        UserError: a RUN is incomplete, an optional package is missing, the model has no ONNX form,
            or the answers of a fresh process differ from the Python model's; nothing is published
            then.
        UsageError: the profile has an option without effect here.
    """
    export = OnnxExport("export --format onnx", runs, output, version, profile, overrides, combine)
    with new_version(output, version) as (target, folder):
        return export.write(target, folder)


class OnnxExport:
    """A model that can be converted to ONNX.

    Args:
        what: name of the export, in errors.
        runs, output, version, profile, overrides, combine: as of :func:`export_onnx`.

    Attributes:
        runs: list of Run.
        settings: what a runtime needs beside the graph; see metadata.py.

    Raises:
        UserError, UsageError: as of :func:`export_onnx`.
    """

    def __init__(
        self,
        what: str,
        runs: Runs,
        output: str | os.PathLike[str],
        version: int | None,
        profile: str | os.PathLike[str] | None,
        overrides: Sequence[str],
        combine: str,
    ) -> None:
        require(what, "tf2onnx", "onnx", "onnxruntime")
        from rnnsearch_tf.extras.onnx.metadata import settings

        self.runs = opened_runs(runs)
        self._options = load_profile(saved_config(self.runs[0].config).search, profile, overrides)
        _check_profile(self._options)
        version_folder(output, version)  # fail early
        self._translator = loaded(self.runs, self._options, combine)  # float32: _check_profile
        _check_translator(what, self._translator)
        self._search = self._translator.search_config(**self._options.search_options)
        self.settings = settings(
            self.runs[0].path.name,
            (self._translator.source_text, self._translator.target_text),
            self._search,
            maximum_source_length=self._options.maximum_source_length,
            has_attention=self._translator.model.has_attention,
            lexicon=(
                Lexicon.load(self._search.lexicon, *self._translator.unicode_forms)
                if self._search.replace_unknown and self._search.lexicon
                else None
            ),
        )

    def write(
        self,
        target: pathlib.Path,
        folder: pathlib.Path,
        use: str = f"rnnsearch-translate --model {ONNX_FILE} translates",
    ) -> Exported:
        """Convert the model, write it with its profile and card, and check it in a fresh process.

        Args:
            target: path that the folder will have.
            folder: path of the folder, which exists.
            use: end of the card, on what translates with the file.

        Raises:
            UserError: the answers of a fresh process differ from the Python model's.
        """
        import onnx

        from rnnsearch_tf.extras.onnx.graph import search_onnx
        from rnnsearch_tf.extras.onnx.metadata import add_metadata
        from rnnsearch_tf.extras.onnx.weights import store_weights

        shortlist = self._translator.shortlist(self._search)
        with announced("converting the search to ONNX"):
            model = search_onnx(self._translator.model, self._search, shortlist)
        store_weights(model, self._options.weights)
        add_metadata(model, self.settings)
        onnx.save(model, str(folder / ONNX_FILE))
        with announced("comparing its answers in a fresh process"):
            compared, cost = _check(folder / ONNX_FILE, self._translator, self._options)
        save_config(self._options, folder / PROFILE)
        left_out = _left_out(self._translator)
        exported = Exported(target, model.ByteSize(), compared, cost, left_out)
        text = _card(self.runs, self._options, exported, use)
        (folder / "model_card.md").write_text(text, encoding="utf-8")
        return exported


def _check_translator(what: str, translator: Translator) -> None:
    """Raise UserError if the model has no ONNX form."""
    if len(translator.source_texts) > 1:
        raise UserError(
            f"{what}: expected an ensemble whose members read the same source tokens, got"
            f" {len(translator.source_texts)} kinds; export them as a SavedModel"
        )
    size = sum(4 * math.prod(weight.shape) for weight in translator.model.trainable_variables)
    if size > LARGEST:
        raise UserError(
            f"{what}: expected weights of at most {LARGEST:,} bytes in float32, got {size:,};"
            " export the model as a SavedModel"
        )


def _left_out(translator: Translator) -> str | None:
    """A sentence on what a runtime has to bring by itself; None if the file has it all."""
    texts = translator.source_text, translator.target_text
    if all(text.config.tokenization != "moses" for text in texts):
        return None
    return (
        "without Moses's rules, which rnnsearch-translate does not have: it refuses this file"
        " (tokenization: moses); other programs can tokenize by themselves"
    )


def _check_profile(profile: Profile) -> None:
    """Raise UsageError if an option has no effect on an ONNX file, or cannot be had."""
    default = Profile()
    for name in ("signatures", "temperature", "precision", "warmup_requests"):
        if getattr(profile, name) != getattr(default, name):
            raise UsageError(
                f"{name}: it has no effect on an ONNX file, which is computed in float32 and only"
                " translates; leave it out, or export a SavedModel"
            )
    if profile.weights == "bfloat16":
        raise UsageError(
            "weights: expected float32, float16 or int8 in an ONNX file, got bfloat16, which ONNX"
            " Runtime does not compute on a CPU"
        )


def _check(
    file: os.PathLike[str], translator: Translator, profile: Profile
) -> tuple[int, str | None]:
    """(sentences that were compared, sentence on the BLEU that small weights cost or None)."""
    from rnnsearch_tf.extras.onnx.check import compare, run_batches

    lines = [*TRICKY, LONG, *(line.encode() for line in sentences_of(translator.source_text))]
    batches = _batches(translator, lines, profile)
    got = run_batches(file, batches)
    if profile.weights != "float32":
        return sum(map(len, batches)), _cost(file, translator, profile)
    search = translator.search_config(**profile.search_options)
    graph = search_graph(translator.model, search, shortlist=translator.shortlist(search))
    expected = [
        {name: np.asarray(value) for name, value in graph(batch)._asdict().items()}
        for batch in batches
    ]
    return compare(file, got, expected), None


def _cost(file: os.PathLike[str], translator: Translator, profile: Profile) -> str:
    """A sentence with the BLEU of the file and of the Python model, on development text."""
    from rnnsearch_tf.extras.onnx.check import run_batches

    pairs = [pair for pair in development_pairs(translator) if pair[0].strip()]
    sources = [source for source, _ in pairs]
    search = {**profile.search_options, "replace_unknown": False}
    expected = [one.text for one in translator.translate(sources, **search)]
    got = [
        text.decode()
        for answer in run_batches(file, _batches(translator, sources, profile))
        for text in translator.target_text.decode(answer["ids"][:, 0]).numpy()
    ]
    return cost_sentence(f"{profile.weights} weights", translator, pairs, expected, got)


def _batches(translator: Translator, lines: Sequence[Line], profile: Profile) -> list[np.ndarray]:
    """Source ids of the lines with words, in batches: int32 [B, J] each; longer ones are cut."""
    limit = profile.maximum_source_length
    ids = translator.source_text.encode(tf.constant(lines, tf.string)).to_list()
    rows = [row for row in ids if len(row) > 1]
    rows = [row if len(row) <= limit + 1 else [*row[:limit], END_ID] for row in rows]
    return [padded(rows[start : start + BATCH]) for start in range(0, len(rows), BATCH)]


def _card(runs: Sequence[Run], profile: Profile, exported: Exported, use: str) -> str:
    """The model card: the training, from the cards of the RUNs, and the export."""
    rows = [
        f"{ONNX_FILE}: {exported.bytes:,} bytes, weights in {profile.weights}",
        *([f"what it costs: {exported.cost}"] if exported.cost else []),
        *([exported.left_out] if exported.left_out else []),
        f"options: see {PROFILE} in this folder",
        f"checked before it was published: {exported.compared} sentences in a fresh process",
        f"made with rnnsearch_tf {__version__}; {use}",
    ]
    return card(runs, rows)
