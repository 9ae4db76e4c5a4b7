"""Export a RUN as one file with the whole beam search as a graph, for programs without TensorFlow:
what the formats (ONNX, LiteRT) have in common.

Ids go in and n-best lists come out; a format adds the text settings in its own way.
"""

from __future__ import annotations

import base64
import dataclasses
import math
import os
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from rnnsearch_tf import __version__
from rnnsearch_tf.config import END_ID, save_config, saved_config
from rnnsearch_tf.config.loading import named_options
from rnnsearch_tf.config.option import names_with
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.export.check import LONG, TRICKY, check_ties
from rnnsearch_tf.export.graph_check import compare, run_batches
from rnnsearch_tf.export.profile import FILE as PROFILE, Profile, load_profile
from rnnsearch_tf.export.publishing import new_version, version_folder
from rnnsearch_tf.export.warmup import sentences_of
from rnnsearch_tf.export.writer import Exported, card, loaded, opened_runs
from rnnsearch_tf.runtime.optional import require
from rnnsearch_tf.runtime.progress import announced
from rnnsearch_tf.search.beam import BeamResult
from rnnsearch_tf.search.graphs import search_graph
from rnnsearch_tf.text.counting import Line
from rnnsearch_tf.text.pipeline import Text
from rnnsearch_tf.text.vocabulary import batches, padded
from rnnsearch_tf.translation import Translator
from rnnsearch_tf.translation.loading import Paths

INPUT = "source_ids"
OUTPUTS = BeamResult._fields

SETTINGS_FORMAT = 1
"""Number of the format of the settings; a runtime refuses a higher one than it knows."""

TEXT_OPTIONS = ("language", "tokenization", "lowercase", "unicode_form", "remove_invisible")
SEARCH_OPTIONS = ("beam_size", "nbest", "length_penalty", "replace_unknown")

LARGEST_WEIGHTS_BYTES = 2**31 - 1
"""Bytes of float32 weights: a graph is converted as one buffer, before they shrink."""


@dataclasses.dataclass(frozen=True)
class Format:
    """A file format.

    Attributes:
        name: in messages, such as "ONNX Runtime".
        option: value of ``rnnsearch export --format``.
        packages: modules that it needs, see runtime/optional.py.
        file: name of the file in ``DIR/N``.
        convert: function (GraphExport, path) that writes the file, and others beside it.
        checker: module that answers in a new process; see
            :func:`~rnnsearch_tf.export.graph_check.run_batches`.
        batch_size: sentences in a batch of the check.
        use: end of the model card, on what translates with the file.
    """

    name: str
    option: str
    packages: tuple[str, ...]
    file: str
    convert: Callable[[GraphExport, pathlib.Path], None]
    checker: str
    batch_size: int
    use: str


def export_graph(
    format: Format,
    runs: Paths,
    output: str | os.PathLike[str],
    version: int | None = None,
    profile: str | os.PathLike[str] | None = None,
    overrides: Sequence[str] = (),
    combine: str = "probabilities",
) -> Exported:
    """Export a RUN, or an ensemble of several, as one file with the beam search as a graph, from
    source ids to n-best lists with attention.

    Args:
        format: ONNX (extras/onnx/writer.py) or LITERT (extras/litert/writer.py).
        runs, output, version, profile, overrides, combine: as of
            :func:`~rnnsearch_tf.export.writer.export_model`.

    Raises:
        UserError: a RUN is incomplete, an optional package is missing, the model has no form as one
            file, or the answers of a fresh process differ from the Python model's; nothing is
            published then.
        UsageError: the profile has an option without effect here.
    """
    what = f"export --format {format.option}"
    require(what, *format.packages)
    export = GraphExport(what, format, runs, output, version, profile, overrides, combine)
    with new_version(output, version, graph=True) as (target, folder):
        return export.write(target, folder)


class GraphExport:
    """A RUN, or an ensemble, that becomes one file.

    Args:
        what: name of the export in errors, such as "export --format onnx".
        format: its Format.
        runs, output, version, profile, overrides, combine: as of
            :func:`~rnnsearch_tf.export.writer.export_model`.

    Attributes:
        runs: list of Run.
        options: Profile.
        translator: Translator in float32.
        search: SearchConfig, which becomes part of the graph.
        settings: what a runtime needs beside the graph, as values of JSON.

    Raises:
        UserError: a RUN is incomplete, or the model has no form as one file.
        UsageError: the profile has an option without effect here.
    """

    def __init__(
        self,
        what: str,
        format: Format,
        runs: Paths,
        output: str | os.PathLike[str],
        version: int | None,
        profile: str | os.PathLike[str] | None,
        overrides: Sequence[str],
        combine: str,
    ) -> None:
        self._format = format
        self.runs = opened_runs(runs)
        self.options = load_profile(saved_config(self.runs[0].config).search, profile, overrides)
        _check_profile(format.name, self.options, overrides)
        version_folder(output, version, graph=True)  # fail early
        self.translator = loaded(self.runs, self.options, combine)
        _check_translator(what, self.translator)
        self.search = self.translator.config.search
        self.settings = self._settings()

    def write(self, target: pathlib.Path, folder: pathlib.Path, use: str = "") -> Exported:
        """Convert the model, write it with its profile and card, and check it in a new process.

        Args:
            target: path that the folder will have.
            folder: path of the folder, which exists.
            use: in place of that of the format.

        Raises:
            UserError: the answers of the new process differ from the Python model's.
        """
        file = folder / self._format.file
        with announced(f"converting the search to {self._format.name}"):
            self._format.convert(self, file)
        with announced("comparing its answers in a fresh process"):
            compared = self._checked(file)
        save_config(self.options, folder / PROFILE)
        size = file.stat().st_size
        exported = Exported(target, size, compared, _left_out(self.translator))
        text = self._card(exported, use or self._format.use)
        (folder / "model_card.md").write_text(text, encoding="utf-8")
        return exported

    def _settings(self) -> dict[str, Any]:
        translator = self.translator
        search = dataclasses.asdict(self.search)
        settings: dict[str, Any] = {
            "format": SETTINGS_FORMAT,
            "name": self.runs[0].path.resolve().name,
            "source": text_settings(translator.source_text),
            "target": text_settings(translator.target_text),
            "maximum_source_length": self.options.maximum_source_length,
            "has_attention": translator.model.has_attention,
            "search": {option: search[option] for option in SEARCH_OPTIONS},
        }
        lexicon = translator.lexicon(self.search) if self.search.replace_unknown else None
        if lexicon is not None:
            keys, words = (tensor.numpy().tolist() for tensor in lexicon.table.export())
            settings["lexicon"] = {key.decode(): word.decode() for key, word in zip(keys, words)}
        return settings

    def _checked(self, file: pathlib.Path) -> int:
        """The number of sentences that were compared: none if the weights are small, where the file
        only has to answer.
        """
        sentences = sentences_of(self.translator.source_text)
        lines = [*TRICKY, LONG, *(line.encode() for line in sentences)]
        requests = self._batches(lines)
        got = run_batches(self._format.checker, file, requests)
        if self.options.weights != "float32":
            return 0
        shortlist = self.translator.shortlist(self.search)
        graph = search_graph(self.translator.model, self.search, shortlist=shortlist)
        expected = [
            {name: np.asarray(value) for name, value in graph(batch)._asdict().items()}
            for batch in requests
        ]
        compared, ties = compare(file, got, expected)
        check_ties(file, ties, compared)
        return compared

    def _batches(self, lines: Sequence[Line]) -> list[np.ndarray]:
        """Source ids of the lines with words, in batches: int32 [B, J] each; longer ones are
        cut.
        """
        limit = self.options.maximum_source_length
        ids = self.translator.source_text.encode(tf.constant(lines, tf.string)).to_list()
        rows = [row for row in ids if len(row) > 1]
        rows = [row if len(row) <= limit + 1 else [*row[:limit], END_ID] for row in rows]
        return [padded(batch) for batch in batches(rows, self._format.batch_size)]

    def _card(self, exported: Exported, use: str) -> str:
        """The model card: the training, from the cards of the RUNs, and the export."""
        rows = [
            f"{self._format.file}: {exported.bytes:,} bytes, weights in {self.options.weights}",
            *([exported.left_out] if exported.left_out else []),
            f"options: see {PROFILE} in this folder",
            (
                f"checked before it was published: {exported.compared} sentences in a fresh process"
                if exported.compared
                else "a fresh process has answered with it before it was published"
            ),
            f"made with rnnsearch_tf {__version__}; {use}",
        ]
        return card(self.runs, rows)


def text_settings(text: Text) -> dict[str, Any]:
    """Text settings of one side: its options, and a SentencePiece model in base64 or its tokens."""
    values: dict[str, Any] = {option: getattr(text.config, option) for option in TEXT_OPTIONS}
    if text.subword_model is not None:
        values["subword_model"] = base64.b64encode(text.subword_model).decode("ascii")
    else:
        values["tokens"] = list(text.vocabulary.tokens)
    return values


def _left_out(translator: Translator) -> str | None:
    """A sentence on what a runtime has to bring by itself; None if the file has it all."""
    texts = translator.source_text, translator.target_text
    if all(text.config.tokenization != "moses" for text in texts):
        return None
    return (
        "without Moses's rules (tokenization: moses), which the program that uses it has to bring;"
        " rnnsearch-runtime[moses] has them"
    )


def _check_profile(name: str, profile: Profile, overrides: Sequence[str]) -> None:
    """Raise UsageError if an option has no effect on such a file, or cannot be had.

    A profile's file may name signatures and a batch size all the same: it may describe SavedModels
    too.
    """
    default = Profile()
    named = named_options(None, overrides, default)
    without_effect = ("temperature", "precision", "warmup_requests", "maximum_target_length")
    changed = [
        option for option in without_effect if getattr(profile, option) != getattr(default, option)
    ]
    changed += {"signatures", "search.batch_size"} & named
    if changed:
        raise UsageError(
            f"{changed[0]}: it has no effect on a file for {name}, which is computed in float32 and"
            " only translates; leave it out, or export a SavedModel"
        )
    if profile.weights == "bfloat16":
        raise UsageError(
            f"weights: expected float32, float16 or int8 in a file for {name}, got bfloat16, which"
            " its runtime does not compute on a CPU"
        )


def _check_translator(what: str, translator: Translator) -> None:
    """Raise UserError if the model has no form as one file."""
    if len(translator.source_texts) > 1:
        raise UserError(
            f"{what}: expected an ensemble whose members read the same source tokens, got"
            f" {len(translator.source_texts)} kinds; export them as a SavedModel"
        )
    for side, text in (("source", translator.source_text), ("target", translator.target_text)):
        rules = [*names_with(text.config, "makes_tokens"), *names_with(text.config, "is_rule_file")]
        for option in rules:
            if option not in TEXT_OPTIONS and getattr(text.config, option):
                raise UserError(
                    f"{what}: expected a model without {side}.{option}, which this form of a model"
                    f" cannot apply, got {getattr(text.config, option)}; export the model as a"
                    " SavedModel"
                )
    size = sum(4 * math.prod(weight.shape) for weight in translator.model.trainable_variables)
    if size > LARGEST_WEIGHTS_BYTES:
        raise UserError(
            f"{what}: expected weights of at most {LARGEST_WEIGHTS_BYTES:,} bytes in float32, got"
            f" {size:,}; export the model as a SavedModel"
        )
