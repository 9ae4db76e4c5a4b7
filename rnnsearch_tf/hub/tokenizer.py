"""One side's text handling as a tokenizer of keras-nlp."""

import dataclasses

import keras_nlp
import tensorflow as tf

from rnnsearch_tf.backend import keras
from rnnsearch_tf.config import END_ID, PAD_ID, SPECIAL_TOKENS, load_config
from rnnsearch_tf.hub.backbone import RNNSearchBackbone
from rnnsearch_tf.text.pipeline import load_text

SIDE = "text"
"""What the files of a tokenizer's vocabulary are named after."""


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class RNNSearchTokenizer(keras_nlp.tokenizers.Tokenizer):
    """Text → ids → text as :class:`~rnnsearch_tf.text.pipeline.Text` does it, in TensorFlow operations.

    Args:
        text: Text; None where the vocabulary is loaded later, as from a preset.
        config: dictionary of the options of TextConfig, in place of ``text``.
        keywords: of ``keras_nlp.tokenizers.Tokenizer``; ``config_file`` tells two tokenizers of a preset apart.

    Call arguments:
        inputs: string [] or [B].

    Returns:
        RaggedTensor int32 [B, None] without the end symbol, which the preprocessor adds; int32 [None] of one string.
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

    def tokenize(self, inputs):
        inputs = tf.convert_to_tensor(inputs)
        ids = self.text.vocabulary.ids(self.text.tokenize(tf.reshape(inputs, [-1])))
        return ids.values if inputs.shape.rank == 0 else ids

    def detokenize(self, inputs):
        ids = tf.cast(tf.ragged.constant(inputs) if isinstance(inputs, list) else inputs, tf.int32)
        return self.text.decode(ids[tf.newaxis])[0] if ids.shape.rank == 1 else self.text.decode(ids)

    def get_vocabulary(self):
        return list(self.text.vocabulary.tokens)

    def vocabulary_size(self):
        return self.text.vocabulary.size

    def id_to_token(self, id):
        return self.text.vocabulary.tokens[id]

    def token_to_id(self, token):
        return self.text.vocabulary.tokens.index(token)

    def get_config(self):
        return super().get_config() | {"config": self.config}
