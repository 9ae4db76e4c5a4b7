"""The systems as a backbone of keras-nlp: a functional model from ids to logits."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import keras_nlp

from rnnsearch_tf.config import PAD_ID, load_config
from rnnsearch_tf.models.build import SYSTEMS
from rnnsearch_tf.runtime.backend import keras

INPUTS = ("encoder_token_ids", "encoder_padding_mask", "decoder_token_ids", "decoder_padding_mask")


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class RNNSearchBackbone(keras_nlp.models.Backbone):
    """RNNsearch, or another system of the papers, without text handling.

    Args:
        source_vocabulary_size, target_vocabulary_size: including special tokens.
        model: options of the section ``model`` (``rnnsearch options model.``) that differ from
            their defaults.
        dtype: ``float32``, ``float64`` or ``mixed_bfloat16``.

    Call arguments:
        inputs: dictionary of int32 [B, J] ``encoder_token_ids`` and ``encoder_padding_mask``, int32
            [B, I] ``decoder_token_ids`` (a start symbol and the target words before the last) and
            ``decoder_padding_mask``.

    Returns:
        {"logits": float [B, I, V]}.

    Attributes:
        system: the TranslationModel, with ``start`` and ``step`` for search.

    Raises:
        UsageError: another dtype, or an unknown option of ``model``.
    """

    def __init__(
        self,
        source_vocabulary_size: int,
        target_vocabulary_size: int,
        model: Mapping[str, Any] | None = None,
        dtype: Any = None,
        **keywords: Any,
    ) -> None:
        policy = keras.dtype_policies.get(dtype)
        config = load_config(values={"model": dict(model or {})}).model
        system = SYSTEMS[config.system](
            config, source_vocabulary_size, target_vocabulary_size, dtype=policy
        )
        inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in INPUTS}
        source_ids, source_mask, target_ids, _ = inputs.values()
        # position i of the logits predicts word i + 1; the last target id has no effect
        target_ids = keras.ops.pad(target_ids[:, 1:], [[0, 0], [0, 1]], constant_values=PAD_ID)
        source_ids = keras.ops.where(source_mask, source_ids, PAD_ID)
        logits = system({"source_ids": source_ids, "target_ids": target_ids})
        # a copy has no mask: keras-nlp excludes padding by sample weights
        logits = keras.ops.copy(logits)
        super().__init__(inputs=inputs, outputs={"logits": logits}, dtype=policy, **keywords)
        self.system = system

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return super().get_config() | {
            "source_vocabulary_size": self.system.source_vocabulary_size,
            "target_vocabulary_size": self.system.target_vocabulary_size,
            "model": dataclasses.asdict(self.system.config),
        }
