"""One side's text handling as a tokenizer of keras-nlp."""

import dataclasses
import operator
import pathlib

import keras_nlp
import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.config import END_ID, PAD_ID, SPECIAL_TOKENS, UNKNOWN_ID, load_config
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.extras.hub.backbone import RNNSearchBackbone
from rnnsearch_tf.extras.hub.checksums import record_files, verify_files
from rnnsearch_tf.text.pipeline import load_text

SIDE = "text"
"""What the files of a tokenizer's vocabulary are named after."""


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class RNNSearchTokenizer(keras_nlp.tokenizers.Tokenizer):
    """Text → ids → text as :class:`~rnnsearch_tf.text.pipeline.Text` does it, in TensorFlow
    operations.

    Args:
        text: Text; None where the vocabulary is loaded later, as from a preset.
        config: dictionary of the options of TextConfig, in place of ``text``.
        keywords: of ``keras_nlp.tokenizers.Tokenizer``; ``config_file`` tells two tokenizers of a
            preset apart.

    Call arguments:
        inputs: string [] or [B].

    Returns:
        RaggedTensor int32 [B, None] without the end symbol, which the preprocessor adds; int32
        [None] of one string.
    """

    backbone_cls = RNNSearchBackbone

    def __init__(self, text=None, config=None, **keywords):
        keywords.setdefault("dtype", "int32")
        super().__init__(**keywords)
        self.config = dict(config) if text is None else dataclasses.asdict(text.config)
        self._text_config = load_config(values={"source": self.config}).source
        self.file_assets = [f"vocabulary.{SIDE}.txt"]
        if self._text_config.tokenization == "sentencepiece":
            self.file_assets.append(f"{SIDE}.spm.model")
        self.text = text
        self.start_token_id = END_ID  # the decoder's first input; the models never look it up
        self._add_special_token(SPECIAL_TOKENS[PAD_ID], "pad_token")
        self._add_special_token(SPECIAL_TOKENS[END_ID], "end_token")

    def load_assets(self, folder):
        self.text = load_text(folder, SIDE, self._text_config)
        self._update_special_token_ids()

    def save_assets(self, folder):
        self.text.save(folder, SIDE)

    def load_preset_assets(self, preset):
        verify_files(preset, self._preset_files())
        super().load_preset_assets(preset)

    def save_to_preset(self, preset_dir):
        """As keras-nlp does it, with checksums."""
        super().save_to_preset(preset_dir)
        record_files(preset_dir, self._preset_files())

    def _preset_files(self):
        return self.config_file, f"assets/{pathlib.Path(self.config_file).stem}/*"

    def tokenize(self, inputs):
        inputs = tf.convert_to_tensor(inputs)
        ids = self.text.vocabulary.ids(self.text.tokenize(tf.reshape(inputs, [-1])))
        return ids.values if inputs.shape.rank == 0 else ids

    def detokenize(self, inputs):
        ids = tf.cast(tf.ragged.constant(inputs) if isinstance(inputs, list) else inputs, tf.int32)
        return (
            self.text.decode(ids[tf.newaxis])[0] if ids.shape.rank == 1 else self.text.decode(ids)
        )

    def get_vocabulary(self):
        return list(self.text.vocabulary.tokens)

    def vocabulary_size(self):
        return self.text.vocabulary.size

    def id_to_token(self, id):
        """The token of an id; UsageError where the vocabulary has none."""
        try:
            number = operator.index(id)
        except TypeError:
            number = -1
        size = self.vocabulary_size()
        if not 0 <= number < size:
            raise UsageError(
                f"id_to_token: expected a whole number from 0 to {size - 1}, got {id!r}"
            )
        return self.text.vocabulary.tokens[number]

    def token_to_id(self, token):
        """The id of a token; UsageError where the vocabulary does not have it."""
        tokens = self.text.vocabulary.tokens
        if token not in tokens:
            raise UsageError(
                f"token_to_id: expected a token of the vocabulary, got {token!r}; "
                f"text with it has {SPECIAL_TOKENS[UNKNOWN_ID]!r} in its place"
            )
        return tokens.index(token)

    def get_config(self):
        return super().get_config() | {"config": self.config}
