"""Open a trained model, whatever its form on disk."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from rnnsearch_tf.config import Config, SearchConfig, TextConfig
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.export.profile import read_profile
from rnnsearch_tf.export.publishing import exported_version, read_about
from rnnsearch_tf.export.saved_model import SavedModel
from rnnsearch_tf.translation import Translator
from rnnsearch_tf.translation.loading import Paths, paths_of
from rnnsearch_tf.translation.results import Answer


def open_translator(models: Paths, overrides: Sequence[str] = ()) -> Translator:
    """Open a trained model for translation.

    Args:
        models: path of a run folder, path of an exported model (``DIR``, for its newest version, or
            ``DIR/N``), or name of a shipped model; or a list of run folders and names, which form
            an ensemble.
        overrides: as of ``Translator.load``; an export has none, its options are fixed.

    Raises:
        UsageError: an exported model is in a list with others, or has overrides.
        UserError: the model does not exist, or is incomplete.

    Example:
        >>> open_translator("tatoeba-en-fr").translate(["My sister is a doctor."])[0].text
        'Ma sœur est médecin.'
    """
    paths = paths_of(models)
    exported = next(filter(None, map(exported_version, paths)), None)
    if exported is None:
        return Translator.load(paths, overrides)
    if len(paths) > 1:
        raise UsageError(
            f"expected run folders for an ensemble, got the exported model {exported} among them;"
            " an ensemble is exported as one model, with rnnsearch export --model RUN --model RUN"
        )
    if overrides:
        raise UsageError(
            f"{overrides[0]}: expected a run folder with it, got the exported model {exported},"
            " whose options are fixed; leave it out, or export the run again"
        )
    return ExportedTranslator(exported)


class ExportedTranslator(Translator):
    """A Translator whose functions of text are the signatures of an export. They have fixed
    options, and there is no model to save.

    Args:
        folder: path of the version.

    Raises:
        UserError: it is no complete SavedModel that ``rnnsearch export`` wrote.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = pathlib.Path(folder)
        self.profile = read_profile(folder)
        about = read_about(folder)
        source, target = (
            TextConfig(language=about[side], tokenization=tokenization, lowercase=lowercase)
            for side, tokenization, lowercase in zip(
                ("source", "target"), about["tokenization"], about["lowercase"]
            )
        )
        self.config = Config(source=source, target=target, search=self.profile.search)
        self.has_attention = about["attention"]
        self.reads_source = True
        self.maximum_length = self.profile.maximum_length
        self._model = SavedModel(folder)

    def __getattr__(self, name: str) -> Any:
        if name in ("model", "source_text", "target_text"):
            raise UsageError(
                f"{self.folder}: expected a run folder, got an export, which has no {name} to do"
                " this with; name the run itself"
            )
        raise AttributeError(name)

    def search_config(self, **changes: Any) -> SearchConfig:
        """The search section of the profile; only ``batch_size`` may change."""
        fixed = self.config.search
        search = super().search_config(**changes)
        for name in changes:
            if name != "batch_size" and getattr(search, name) != getattr(fixed, name):
                raise UsageError(
                    f"search.{name}: expected {getattr(fixed, name)}, which {self.folder} was"
                    f" exported with, got {changes[name]}; export it again, with"
                    f" --set search.{name}={changes[name]}"
                )
        return search

    def _answer(
        self, name: str, search: SearchConfig, nbest: int, inputs: Mapping[str, Sequence[Any]]
    ) -> Answer:
        if nbest > self.profile.nbest:
            raise UsageError(
                f"nbest: expected at most {self.profile.nbest}, which {self.folder} was exported"
                f" with, got {nbest}; export it again, with --set nbest={nbest}"
            )
        if name not in self._model.signatures:
            names = self.profile.signatures
            raise UsageError(
                f"{self.folder}: expected a model exported with signature {name}, got one with"
                f" {', '.join(names)}; export it again with"
                f" --set signatures=[{','.join([*names, name])}]"
            )
        return self._model(name, **inputs)
