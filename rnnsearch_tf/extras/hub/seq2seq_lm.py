"""The task model of keras-nlp: fit on pairs of strings, generate translations."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import pathlib
from collections.abc import Mapping
from typing import Any

import keras_nlp
import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import Config, load_config
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.extras.hub.backbone import RNNSearchBackbone
from rnnsearch_tf.extras.hub.preprocessor import RNNSearchSeq2SeqLMPreprocessor
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.translation import Translator


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class RNNSearchSeq2SeqLM(keras_nlp.models.Seq2SeqLM):
    """A translation model for keras-nlp.

    ``generate`` uses the beam search of this package and returns the same text as ``Translator``.

    Args:
        backbone: RNNSearchBackbone.
        preprocessor: RNNSearchSeq2SeqLMPreprocessor; None: inputs of ``fit`` are ids.
        search: options of the section ``search`` (``rnnsearch options search.``).

    Example:
        model = RNNSearchSeq2SeqLM.from_preset("presets/demo")
        model.compile(optimizer=keras.optimizers.Adam(1e-3))
        model.fit(source_texts, target_texts, batch_size=64)
        model.generate(["My sister sells an old book."])
    """

    backbone_cls = RNNSearchBackbone
    preprocessor_cls = RNNSearchSeq2SeqLMPreprocessor

    def __init__(
        self,
        backbone: RNNSearchBackbone,
        preprocessor: RNNSearchSeq2SeqLMPreprocessor | None = None,
        search: Mapping[str, Any] | None = None,
        **keywords: Any,
    ) -> None:
        inputs = backbone.input
        self.backbone = backbone
        self.preprocessor = preprocessor
        super().__init__(inputs=inputs, outputs=backbone(inputs)["logits"], **keywords)
        self.search = dict(search or {})

    def compile(
        self,
        optimizer: Any = "auto",
        loss: Any = "auto",
        *,
        weighted_metrics: Any = "auto",
        **keywords: Any,
    ) -> None:
        """Like ``keras_nlp.models.Seq2SeqLM.compile``, without a sampler; the default metric is
        perplexity.
        """
        if weighted_metrics == "auto":
            weighted_metrics = [keras_nlp.metrics.Perplexity(from_logits=True, name="perplexity")]
        super().compile(
            optimizer, loss, weighted_metrics=weighted_metrics, sampler="greedy", **keywords
        )

    def generate(self, inputs: Any, max_length: int | None = None) -> Any:
        """Translate texts with this package's beam search.

        Args:
            inputs: str, list of str, string tensor, or a tf.data.Dataset of strings or of batches
                of them.
            max_length: maximum number of tokens of a translation as counted by keras-nlp, with
                start symbol and end symbol; a longer one is cut.

        Returns:
            str for a single str, otherwise list of str.
        """
        if isinstance(inputs, tf.data.Dataset):
            inputs = [text for rows in inputs for text in np.ravel(rows)]
        texts = np.asarray(inputs, dtype=object)
        search = dataclasses.asdict(self.run_config().search)
        translations = self.translator.translate(texts.ravel().tolist(), **search)
        generated = [translation.text for translation in translations]
        if max_length is not None:
            tokens = [translation.tokens[: max_length - 1] for translation in translations]
            cut = self.translator.target_text.detokenize(tf.ragged.constant(tokens, tf.string, 1))
            generated = [text.decode() for text in cut.numpy()]
        return generated if texts.ndim else generated[0]

    @classmethod
    def from_preset(
        cls, preset: str | os.PathLike[str], load_weights: bool = True, **keywords: Any
    ) -> RNNSearchSeq2SeqLM:
        """Like keras-nlp's method, in the saved dtype.

        Args:
            preset: path of a folder, or a preset as in keras-nlp.
            load_weights: False: initial weights.
            keywords: ``dtype``, by default that of a saved folder; and arguments of this class
                that override the preset's.
        """
        file = pathlib.Path(preset) / "config.json"
        if file.is_file() and "dtype" not in keywords:
            # keras-hub's loader would ignore it, or fail
            config = json.loads(file.read_text(encoding="utf-8"))["config"]
            keywords["dtype"] = config["dtype"]["config"]["name"]
        return super().from_preset(os.fspath(preset), load_weights, **keywords)

    @functools.cached_property
    def translator(self) -> Translator:
        """A Translator with this model's weights, for n-best lists, alignments, scores, samples."""
        config = self.run_config()
        assert self.preprocessor is not None  # run_config has checked
        source, target = self.preprocessor.source_tokenizer, self.preprocessor.tokenizer
        return Translator(self.backbone.system, source.text, target.text, config)

    def run_config(self) -> Config:
        """The Config of a RUN with this model; UsageError if there is no preprocessor."""
        preprocessor = self.preprocessor
        if preprocessor is None:
            raise UsageError("expected a preprocessor, which the search needs, got none; give one")
        longest = max(preprocessor.encoder_sequence_length, preprocessor.decoder_sequence_length)
        return load_config(
            values={
                "source": preprocessor.source_tokenizer.config,
                "target": preprocessor.tokenizer.config,
                "model": dataclasses.asdict(self.backbone.system.config),
                "data": {"maximum_length": longest - 1},  # without the end symbol
                "training": {"precision": self.backbone.dtype_policy.name},
                "search": self.search,
            }
        )

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return super().get_config() | {"search": self.search}
