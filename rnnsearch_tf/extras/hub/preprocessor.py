"""Raw string pairs → what the backbone takes, with a tokenizer for each side."""

import keras_nlp
import tensorflow as tf
from keras_nlp.layers import StartEndPacker

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.extras.hub.backbone import RNNSearchBackbone
from rnnsearch_tf.extras.hub.checksums import CONFIGURATIONS, record_files, verify_files
from rnnsearch_tf.extras.hub.tokenizer import RNNSearchTokenizer

SOURCE_TOKENIZER = "source_tokenizer.json"
"""The source tokenizer's file in a preset; the target's is keras-nlp's tokenizer.json."""


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class RNNSearchSeq2SeqLMPreprocessor(keras_nlp.models.Seq2SeqLMPreprocessor):
    """keras-nlp's preprocessor, but with two languages.

    Args:
        tokenizer: RNNSearchTokenizer of the target language.
        source_tokenizer: RNNSearchTokenizer of the source language.
        encoder_sequence_length, decoder_sequence_length: tokens, end symbol included; longer text
            is cut.

    Call arguments:
        x: {"encoder_text": string [B], "decoder_text": string [B]}, or the source texts with the
            target texts as ``y``.
        sample_weight: [B], of the pairs; None: 1 each.

    Returns:
        (x, y, sample_weight): what :class:`RNNSearchBackbone` takes, int32 [B, I] target ids,
        float32 [B, I] weights: 0 at padding, the pair's weight elsewhere.

    Raises:
        UsageError: there are no target texts, or two of them, or ``sample_weight`` has another
            shape.
    """

    backbone_cls = RNNSearchBackbone
    tokenizer_cls = RNNSearchTokenizer

    def __init__(
        self,
        tokenizer,
        source_tokenizer,
        encoder_sequence_length=100,
        decoder_sequence_length=100,
        **keywords,
    ):
        super().__init__(
            tokenizer=tokenizer,
            encoder_sequence_length=encoder_sequence_length,
            decoder_sequence_length=decoder_sequence_length,
            **keywords,
        )
        self.source_tokenizer = source_tokenizer
        self.source_tokenizer.config_file = SOURCE_TOKENIZER

    def build(self, input_shape):
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

    def call(self, x, y=None, sample_weight=None, *, sequence_length=None):
        if not self.built:
            self.build(None)
        source, target = _pair(x, y)
        encoder_token_ids, encoder_padding_mask = self.encoder_packer(
            self.source_tokenizer.tokenize(source)
        )
        length = (sequence_length or self.decoder_sequence_length) + 1
        token_ids, padding_mask = self.decoder_packer(
            self.tokenizer.tokenize(target), sequence_length=length
        )
        x = {
            "encoder_token_ids": encoder_token_ids,
            "encoder_padding_mask": encoder_padding_mask,
            "decoder_token_ids": token_ids[..., :-1],
            "decoder_padding_mask": padding_mask[..., :-1],
        }
        weights = tf.cast(padding_mask[..., 1:], tf.float32)
        if sample_weight is not None:
            weights *= _of_pairs(sample_weight, weights)
        return keras.utils.pack_x_y_sample_weight(x, token_ids[..., 1:], weights)

    def generate_preprocess(self, x, *, sequence_length=None):
        """What a sampler of keras-nlp begins with.

        Args:
            x: source texts, string [B], or {"encoder_text": string [B], "decoder_text": string
                [B]}; the latter, which may be left out, are the first words of the translations.
            sequence_length: int, of the translations, start symbol included; None:
                decoder_sequence_length.
        """
        if not self.built:
            self.build(None)
        texts = x if isinstance(x, dict) else {"encoder_text": x}
        source = tf.convert_to_tensor(texts["encoder_text"])
        prompt = texts.get("decoder_text")
        prompt = tf.fill(tf.shape(source), "") if prompt is None else prompt
        encoder_token_ids, encoder_padding_mask = self.encoder_packer(
            self.source_tokenizer.tokenize(source)
        )
        token_ids, padding_mask = self.decoder_packer(
            self.tokenizer.tokenize(prompt),
            sequence_length=sequence_length or self.decoder_sequence_length,
            add_end_value=False,
        )
        return {
            "encoder_token_ids": encoder_token_ids,
            "encoder_padding_mask": encoder_padding_mask,
            "decoder_token_ids": token_ids,
            "decoder_padding_mask": padding_mask,
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

    def load_preset_assets(self, preset):
        verify_files(preset, CONFIGURATIONS)
        super().load_preset_assets(preset)

    def save_to_preset(self, preset_dir):
        """As keras-nlp does it, with checksums."""
        super().save_to_preset(preset_dir)
        record_files(preset_dir, (self.config_file,))


def _pair(x, y):
    """The source and the target texts of what ``call`` was given."""
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
            'y: expected none beside {"encoder_text", "decoder_text"}, got target texts; give them'
            " once"
        )
    if target is None:
        raise UsageError(
            'y: expected the target texts, or x as {"encoder_text": …, "decoder_text": …}, got'
            " source texts alone; generate translates those"
        )
    return source, target


def _of_pairs(sample_weight, weights):
    """Weights of pairs, [B] for ``weights`` of [B, I], as float32 [B, 1]."""
    sample_weight = tf.cast(sample_weight, weights.dtype)
    if sample_weight.shape.rank != weights.shape.rank - 1:
        raise UsageError(
            "sample_weight: expected a weight for each pair, [B], got the shape"
            f" {sample_weight.shape}; words are weighted where the model is fitted on ids, without"
            " a preprocessor"
        )
    return sample_weight[..., tf.newaxis]
