"""Export a model as ``DIR/N/model.onnx``: the whole beam search as a graph, ids in and n-best lists
out.

The file's metadata have the text settings: the runtime in ``runtime/`` translates with it alone.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import logging
import os
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import tensorflow as tf

from rnnsearch_tf.config import END_ID, PAD_ID, save_config
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.export.check import LONG, TRICKY
from rnnsearch_tf.export.profile import PROFILE_FILE, Profile
from rnnsearch_tf.export.publishing import version_folder
from rnnsearch_tf.export.warmup import sentences_of
from rnnsearch_tf.export.writer import Exported, load_for_export, write_card
from rnnsearch_tf.extras.onnx.check import answers, compare
from rnnsearch_tf.extras.onnx.graph import search_onnx
from rnnsearch_tf.extras.onnx.weights import quantize_weights
from rnnsearch_tf.files.atomic import new_folder
from rnnsearch_tf.files.reading import batches
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.search.graphs import search_graph
from rnnsearch_tf.text.counting import Line
from rnnsearch_tf.text.pipeline import Text
from rnnsearch_tf.translation import Translator
from rnnsearch_tf.translation.loading import Paths

log = logging.getLogger("rnnsearch_tf")

ONNX_FILE = "model.onnx"
"""Name of the exported file."""

KEY = "rnnsearch"
"""Name of the metadata entry with the settings."""

SETTINGS_FORMAT = 1
"""Number of the format of the settings; a runtime refuses a higher one than it knows."""

TEXT_OPTIONS = ("language", "tokenization", "lowercase")
SEARCH_OPTIONS = ("beam_size", "length_penalty", "replace_unknown")

BATCH_SIZE = 8
"""Sentences in a batch of the check."""


def export_onnx(
    runs: Paths,
    output: str | os.PathLike[str],
    version: int | None = None,
    profile: str | os.PathLike[str] | None = None,
    overrides: Sequence[str] = (),
) -> Exported:
    """Export a run folder, or an ensemble of several, as one ONNX file.

    Args:
        runs, output, version, profile, overrides: as of
            :func:`~rnnsearch_tf.export.writer.export_model`.

    Raises:
        UserError: a run folder is incomplete, or the answers of ONNX Runtime differ from the Python
            model's; nothing is published then.
        UsageError: the profile asks for weights other than float32 or int8.
    """
    # computed in float32; a profile may describe SavedModels too
    folders, options, translator = load_for_export(runs, profile, [*overrides, "precision=float32"])
    if options.weights not in ("float32", "int8"):
        raise UsageError(
            f"weights: expected float32 or int8 in an ONNX file, got {options.weights}; choose one"
        )
    target = version_folder(output, version)
    if "moses" in (translator.config.source.tokenization, translator.config.target.tokenization):
        log.warning(
            "warning: the file takes and gives ids; the runtime has no Moses rules for text"
        )
    with new_folder(target) as folder:
        file = folder / ONNX_FILE
        _write(file, translator, options, settings(folders, translator, options))
        compared = _checked(file, translator, options)
        save_config(options, folder / PROFILE_FILE)
        exported = Exported(target, file.stat().st_size, compared)
        write_card(folder, folders, options, exported)
    return exported


def settings(runs: Sequence[Run], translator: Translator, options: Profile) -> dict[str, Any]:
    """What a runtime needs beside the graph, as values of JSON."""
    search = dataclasses.asdict(options.search)
    return {
        "format": SETTINGS_FORMAT,
        "name": runs[0].path.resolve().name,
        "source": text_settings(translator.source_text),
        "target": text_settings(translator.target_text),
        "maximum_source_length": options.maximum_length,
        "has_attention": translator.model.has_attention,
        "search": {option: search[option] for option in SEARCH_OPTIONS},
    }


def text_settings(text: Text) -> dict[str, Any]:
    """Text settings of one side: its options, and a SentencePiece model in base64 or its tokens."""
    values: dict[str, Any] = {option: getattr(text.config, option) for option in TEXT_OPTIONS}
    if text.subword_model is not None:
        values["subword_model"] = base64.b64encode(text.subword_model).decode("ascii")
    else:
        values["tokens"] = list(text.vocabulary.tokens)
    return values


def _write(
    file: pathlib.Path, translator: Translator, options: Profile, settings: dict[str, Any]
) -> None:
    model = search_onnx(translator.model, options.search, options.nbest)
    if options.weights == "int8":
        quantize_weights(model)
    entry = model.metadata_props.add()
    entry.key = KEY
    entry.value = json.dumps(settings, ensure_ascii=False)
    onnx.save(model, str(file))


def _checked(file: pathlib.Path, translator: Translator, options: Profile) -> int:
    """Answer with the file; return how many sentences were compared with the Python model's
    answers, which small weights change.
    """
    sentences = sentences_of(translator.source_text)
    lines = [*TRICKY, LONG, *(line.encode() for line in sentences)]
    requests = _batches(translator, lines, options.maximum_length)
    got = answers(file, requests)
    if options.weights != "float32":
        return 0
    graph = search_graph(translator.model, options.search, options.nbest)
    expected = [
        {name: np.asarray(value) for name, value in graph(batch)._asdict().items()}
        for batch in requests
    ]
    return compare(file, got, expected)


def _batches(translator: Translator, lines: Sequence[Line], limit: int) -> list[np.ndarray]:
    """Source ids of the lines with words, int32 [B, J] each; longer lines are cut."""
    ids = translator.source_text.encode(tf.constant(lines, tf.string)).to_list()
    rows = [row for row in ids if len(row) > 1]
    rows = [row if len(row) <= limit + 1 else [*row[:limit], END_ID] for row in rows]
    pad = keras.utils.pad_sequences
    return [pad(batch, padding="post", value=PAD_ID) for batch in batches(rows, BATCH_SIZE)]
