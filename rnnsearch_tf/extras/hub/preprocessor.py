"""From pairs of strings to the backbone's inputs, with a tokenizer for each language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras_nlp
import tensorflow as tf
from keras_nlp.layers import StartEndPacker

from rnnsearch_tf.config import END_ID, PAD_ID
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.extras.hub.backbone import INPUTS, RNNSearchBackbone
from rnnsearch_tf.extras.hub.tokenizer import RNNSearchTokenizer
from rnnsearch_tf.runtime.backend import keras

SOURCE_TOKENIZER = "source_tokenizer.json"
"""File of the source tokenizer in a preset; that of the target is keras-nlp's tokenizer.json."""


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class RNNSearchSeq2SeqLMPreprocessor(keras_nlp.models.Seq2SeqLMPreprocessor):
    """keras-nlp's preprocessor with a tokenizer for each language.

    ``generate`` of RNNSearchSeq2SeqLM uses neither of keras-nlp's methods generate_preprocess and
    generate_postprocess, which know one tokenizer only.

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
        UsageError: the target texts are missing.
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
        ends = dict(end_value=END_ID, pad_value=PAD_ID, return_padding_mask=True)
        start = self.tokenizer.start_token_id
        self.encoder_packer = StartEndPacker(encoder_sequence_length, **ends)
        self.decoder_packer = StartEndPacker(decoder_sequence_length, start_value=start, **ends)
        self.built = True

    def call(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        encoder_sequence_length: int | None = None,
        decoder_sequence_length: int | None = None,
        sequence_length: int | None = None,  # keras-nlp's other name of the decoder's
    ) -> Any:
        """Inputs, targets and weights for ``fit``; see the class."""
        if isinstance(x, dict):
            x, y = x["encoder_text"], x.get("decoder_text")
        if y is None:
            raise UsageError(
                'y: expected the target texts, or x as {"encoder_text": …, "decoder_text": …}, got'
                " source texts alone; generate translates those"
            )
        tokens = self.source_tokenizer.tokenize(x)
        encoder = self.encoder_packer(tokens, sequence_length=encoder_sequence_length)
        length = (decoder_sequence_length or sequence_length or self.decoder_sequence_length) + 1
        ids, mask = self.decoder_packer(self.tokenizer.tokenize(y), sequence_length=length)
        inputs = dict(zip(INPUTS, (*encoder, ids[..., :-1], mask[..., :-1]), strict=True))
        weights = tf.cast(mask[..., 1:], tf.float32)
        if sample_weight is not None:
            weights *= tf.cast(sample_weight, weights.dtype)[..., tf.newaxis]
        return keras.utils.pack_x_y_sample_weight(inputs, ids[..., 1:], weights)

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
        source_tokenizer = config["source_tokenizer"]
        if isinstance(source_tokenizer, dict):
            source_tokenizer = keras.layers.deserialize(source_tokenizer)
        return super().from_config({**config, "source_tokenizer": source_tokenizer})
