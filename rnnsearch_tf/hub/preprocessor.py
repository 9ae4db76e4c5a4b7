"""Raw string pairs → what the backbone takes, with a tokenizer for each side."""

import keras_nlp
import tensorflow as tf
from keras_nlp.layers import StartEndPacker

from rnnsearch_tf.backend import keras
from rnnsearch_tf.hub.backbone import RNNSearchBackbone
from rnnsearch_tf.hub.tokenizer import RNNSearchTokenizer

SOURCE_TOKENIZER = "source_tokenizer.json"
"""The source tokenizer's file in a preset; the target's is keras-nlp's tokenizer.json."""


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class RNNSearchSeq2SeqLMPreprocessor(keras_nlp.models.Seq2SeqLMPreprocessor):
    """keras-nlp's preprocessor, but with two languages.

    Args:
        tokenizer: RNNSearchTokenizer of the target language.
        source_tokenizer: RNNSearchTokenizer of the source language.
        encoder_sequence_length, decoder_sequence_length: tokens, end symbol included; longer text is cut.

    Call arguments:
        x: {"encoder_text": string [B], "decoder_text": string [B]}, or the source texts with the target texts as ``y``.

    Returns:
        (x, y, sample_weight): what :class:`RNNSearchBackbone` takes, int32 [B, I] target ids, their mask.
    """

    backbone_cls = RNNSearchBackbone
    tokenizer_cls = RNNSearchTokenizer

    def __init__(self, tokenizer, source_tokenizer, encoder_sequence_length=100, decoder_sequence_length=100, **keywords):
        super().__init__(
            tokenizer=tokenizer, encoder_sequence_length=encoder_sequence_length,
            decoder_sequence_length=decoder_sequence_length, **keywords,
        )
        self.source_tokenizer = source_tokenizer
        self.source_tokenizer.config_file = SOURCE_TOKENIZER

    def build(self, input_shape):
        common = dict(end_value=self.tokenizer.end_token_id, pad_value=self.tokenizer.pad_token_id, return_padding_mask=True)
        self.encoder_packer = StartEndPacker(self.encoder_sequence_length, **common)
        self.decoder_packer = StartEndPacker(self.decoder_sequence_length, start_value=self.tokenizer.start_token_id, **common)
        self.built = True

    def call(self, x, y=None, sample_weight=None, *, sequence_length=None):
        if not self.built:
            self.build(None)
        source, target = (x["encoder_text"], x["decoder_text"]) if isinstance(x, dict) else (x, y)
        encoder_token_ids, encoder_padding_mask = self.encoder_packer(self.source_tokenizer(source))
        length = (sequence_length or self.decoder_sequence_length) + 1
        token_ids, padding_mask = self.decoder_packer(self.tokenizer(target), sequence_length=length)
        x = {
            "encoder_token_ids": encoder_token_ids, "encoder_padding_mask": encoder_padding_mask,
            "decoder_token_ids": token_ids[..., :-1], "decoder_padding_mask": padding_mask[..., :-1],
        }
        return keras.utils.pack_x_y_sample_weight(x, token_ids[..., 1:], tf.cast(padding_mask[..., 1:], tf.float32))

    def generate_preprocess(self, x, *, sequence_length=None):
        """What a sampler of keras-nlp begins with: source texts, string [B], and no target word."""
        if not self.built:
            self.build(None)
        source = tf.convert_to_tensor(x["encoder_text"] if isinstance(x, dict) else x)
        encoder_token_ids, encoder_padding_mask = self.encoder_packer(self.source_tokenizer(source))
        none = tf.RaggedTensor.from_row_lengths(tf.zeros([0], tf.int32), tf.zeros_like(tf.reshape(source, [-1]), tf.int64))
        token_ids, padding_mask = self.decoder_packer(
            none, sequence_length=sequence_length or self.decoder_sequence_length, add_end_value=False
        )
        return {
            "encoder_token_ids": encoder_token_ids, "encoder_padding_mask": encoder_padding_mask,
            "decoder_token_ids": token_ids, "decoder_padding_mask": padding_mask,
        }

    def get_config(self):
        return super().get_config() | {
            "source_tokenizer": keras.layers.serialize(self.source_tokenizer),
            "encoder_sequence_length": self.encoder_sequence_length,
            "decoder_sequence_length": self.decoder_sequence_length,
        }

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        if isinstance(config["source_tokenizer"], dict):
            config["source_tokenizer"] = keras.layers.deserialize(config["source_tokenizer"])
        return super().from_config(config)
