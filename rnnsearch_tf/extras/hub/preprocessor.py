"""Preprocessor from pairs of strings to the backbone's inputs, with a tokenizer for each
language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras_nlp
import tensorflow as tf
from keras_nlp.layers import StartEndPacker

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.extras.hub.backbone import INPUTS, RNNSearchBackbone
from rnnsearch_tf.extras.hub.tokenizer import RNNSearchTokenizer

SOURCE_TOKENIZER = "source_tokenizer.json"
"""File of the source tokenizer in a preset; that of the target is keras-nlp's tokenizer.json."""


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class RNNSearchSeq2SeqLMPreprocessor(keras_nlp.models.Seq2SeqLMPreprocessor):
    """keras-nlp's preprocessor with a tokenizer for each language.

    Args:
        tokenizer: RNNSearchTokenizer of the target language.
        source_tokenizer: RNNSearchTokenizer of the source language.
        encoder_sequence_length, decoder_sequence_length: maximum number of tokens, including the
            end symbol; longer text is cut.

    Call arguments:
        x: {"encoder_text": string [B], "decoder_text": string [B]}, or the source texts with the
            target texts as ``y``.
        sample_weight: weights of the pairs [B]; None: all 1.

    Returns:
        (x, y, sample_weight): inputs of :class:`RNNSearchBackbone`, target ids int32 [B, I],
        weights float32 [B, I], 0 at padding and the pair's weight elsewhere.

    Raises:
        UsageError: the target texts are missing or given twice, or ``sample_weight`` has another
            shape.
    """

    backbone_cls = RNNSearchBackbone
    tokenizer_cls = RNNSearchTokenizer

    def __init__(
        self,
        tokenizer: RNNSearchTokenizer,
        source_tokenizer: RNNSearchTokenizer,
        encoder_sequence_length: int = 100,
        decoder_sequence_length: int = 100,
        **keywords: Any,
    ) -> None:
        super().__init__(
            tokenizer=tokenizer,
            encoder_sequence_length=encoder_sequence_length,
            decoder_sequence_length=decoder_sequence_length,
            **keywords,
        )
        self.source_tokenizer = source_tokenizer
        self.source_tokenizer.config_file = SOURCE_TOKENIZER

    def build(self, input_shape: Any) -> None:
        """Create the packers."""
        common = dict(
            end_value=self.tokenizer.end_token_id,
            pad_value=self.tokenizer.pad_token_id,
            return_padding_mask=True,
        )
        self.encoder_packer = StartEndPacker(self.encoder_sequence_length, **common)
        self.decoder_packer = StartEndPacker(
            self.decoder_sequence_length, start_value=self.tokenizer.start_token_id, **common
        )
        self.built = True

    def call(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        sequence_length: int | None = None,
    ) -> Any:
        """Inputs, targets and weights for ``fit``; see the class."""
        source, target = _pair(x, y)
        length = (sequence_length or self.decoder_sequence_length) + 1
        inputs = self._inputs(source, target, length)
        token_ids = inputs["decoder_token_ids"]
        padding_mask = inputs["decoder_padding_mask"]
        x = inputs | {
            "decoder_token_ids": token_ids[..., :-1],
            "decoder_padding_mask": padding_mask[..., :-1],
        }
        weights = tf.cast(padding_mask[..., 1:], tf.float32)
        if sample_weight is not None:
            weights *= _of_pairs(sample_weight, weights)
        return keras.utils.pack_x_y_sample_weight(x, token_ids[..., 1:], weights)

    def _inputs(self, source, target, length):
        """The backbone's inputs, with target ids of a length."""
        if not self.built:
            self.build(None)
        encoder = self.encoder_packer(self.source_tokenizer.tokenize(source))
        target = self.tokenizer.tokenize(target)
        decoder = self.decoder_packer(target, sequence_length=length)
        return dict(zip(INPUTS, (*encoder, *decoder), strict=True))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return super().get_config() | {
            "source_tokenizer": keras.layers.serialize(self.source_tokenizer),
            "encoder_sequence_length": self.encoder_sequence_length,
            "decoder_sequence_length": self.decoder_sequence_length,
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> RNNSearchSeq2SeqLMPreprocessor:
        """Create a preprocessor from :meth:`get_config`."""
        config = dict(config)
        if isinstance(config["source_tokenizer"], dict):
            config["source_tokenizer"] = keras.layers.deserialize(config["source_tokenizer"])
        return super().from_config(config)


def _pair(x, y):
    """(source texts, target texts) of the arguments of ``call``."""
    if not isinstance(x, dict):
        source = x
        target = y
    elif "encoder_text" not in x:
        raise UsageError(
            f'x: expected "encoder_text" and "decoder_text", got {", ".join(map(repr, x))}; '
            "a model without a preprocessor takes ids"
        )
    elif y is None:
        source = x["encoder_text"]
        target = x.get("decoder_text")
    else:
        raise UsageError(
            'y: expected none with {"encoder_text", "decoder_text"}, got target texts; give them'
            " once"
        )
    if target is None:
        raise UsageError(
            'y: expected the target texts, or x as {"encoder_text": …, "decoder_text": …}, got'
            " source texts alone; generate translates those"
        )
    return source, target


def _of_pairs(sample_weight, weights):
    """Weights of pairs [B], as float32 [B, 1] for ``weights`` of shape [B, I]."""
    sample_weight = tf.cast(sample_weight, weights.dtype)
    if sample_weight.shape.rank != weights.shape.rank - 1:
        raise UsageError(
            "sample_weight: expected a weight for each pair, [B], got the shape"
            f" {sample_weight.shape}; words are weighted where the model is fitted on ids, without"
            " a preprocessor"
        )
    return sample_weight[..., tf.newaxis]
