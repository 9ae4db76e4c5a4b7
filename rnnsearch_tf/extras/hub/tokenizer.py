"""The text handling of one language as a tokenizer of keras-nlp."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import keras_nlp
import tensorflow as tf

from rnnsearch_tf.config import END_ID, PAD_ID, load_config
from rnnsearch_tf.extras.hub.backbone import RNNSearchBackbone
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.text.pipeline import Text, load_text

SIDE = "text"
"""Name of the side in the file names of a tokenizer's vocabulary."""


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class RNNSearchTokenizer(keras_nlp.tokenizers.Tokenizer):
    """Text → ids → text by :class:`~rnnsearch_tf.text.pipeline.Text`, in TensorFlow operations.

    Args:
        text: Text; None if the vocabulary is loaded later, as from a preset.
        config: options of TextConfig, in place of ``text``.
        keywords: arguments of ``keras_nlp.tokenizers.Tokenizer``; ``config_file`` distinguishes the
            two tokenizers of a preset.

    Call arguments:
        inputs: string [] or [B].

    Returns:
        RaggedTensor int32 [B, None] without the end symbol, which the preprocessor adds; int32
        [None] for a single string.
    """

    backbone_cls = RNNSearchBackbone
    pad_token_id = PAD_ID
    end_token_id = END_ID
    start_token_id = END_ID  # the decoder's first input; the models never look it up

    def __init__(
        self, text: Text | None = None, config: Mapping[str, Any] | None = None, **keywords: Any
    ) -> None:
        super().__init__(**{"dtype": "int32"} | keywords)
        self.config = dict(config or {}) if text is None else dataclasses.asdict(text.config)
        self.text: Any = text
        self._text_config = load_config(values={"source": self.config}).source
        self.file_assets = [f"vocabulary.{SIDE}.txt"]
        if self._text_config.tokenization == "sentencepiece":
            self.file_assets.append(f"{SIDE}.spm.model")

    def load_assets(self, folder: str) -> None:
        """Load the vocabulary."""
        self.text = load_text(folder, SIDE, self._text_config)

    def save_assets(self, folder: str) -> None:
        """Save the vocabulary."""
        self.text.save(folder, SIDE)

    def tokenize(self, inputs: Any) -> tf.RaggedTensor | tf.Tensor:
        """Ids of texts; see the class."""
        inputs = tf.convert_to_tensor(inputs)
        ids = self.text.vocabulary.ids(self.text.tokenize(tf.reshape(inputs, [-1])))
        return ids.values if inputs.shape.rank == 0 else ids

    def detokenize(self, inputs: Any) -> tf.Tensor:
        """Texts of ids: int32 [B, None] -> string [B], or int32 [None] -> string []."""
        ids = tf.cast(tf.ragged.constant(inputs) if isinstance(inputs, list) else inputs, tf.int32)
        if ids.shape.rank == 1:
            return self.text.decode(ids[tf.newaxis])[0]
        return self.text.decode(ids)

    def get_vocabulary(self) -> list[str]:
        """The tokens in the order of their ids."""
        return list(self.text.vocabulary.tokens)

    def vocabulary_size(self) -> int:
        """Number of tokens, including special tokens."""
        return self.text.vocabulary.size

    def id_to_token(self, id: int) -> str:
        """The token of an id."""
        return self.text.vocabulary.tokens[id]

    def token_to_id(self, token: str) -> int:
        """The id of a token of the vocabulary."""
        return self.text.vocabulary.tokens.index(token)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return super().get_config() | {"config": self.config}
