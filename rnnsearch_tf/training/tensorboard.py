"""TensorBoard: training curves, and the attention of some sentences after every epoch."""

from __future__ import annotations

import os

import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import END_ID, SPECIAL_TOKENS
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.training.callbacks import BATCHES_BETWEEN_RECORDS, Logs
from rnnsearch_tf.training.checkpoint import TrainingState
from rnnsearch_tf.training.development import Sides
from rnnsearch_tf.translation import Translation, Translator

PICTURES = 4
"""Sentences whose attention is drawn after every epoch."""

CELL = 16
"""Side of the square of one attention weight, in pixels."""


class TensorBoard(keras.callbacks.Callback):
    """Writes loss, perplexity, speed and gradient norm, and the alignments of some sentences.

    Args:
        folder: folder of the event files.
        sentences: the development text; None: no pictures.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        state: TrainingState,
        translator: Translator,
        sentences: Sides | None,
    ) -> None:
        super().__init__()
        self.writer = tf.summary.create_file_writer(str(folder))
        self.state = state
        self.translator = translator
        self.sources = list(sentences[0][:PICTURES]) if sentences else []

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        if self.state.batches % BATCHES_BETWEEN_RECORDS:
            return
        with self.writer.as_default(step=self.state.batches):
            for name, value in (logs or {}).items():
                tf.summary.scalar(f"training/{name}", value)
            tf.summary.scalar("training/learning_rate", self.model.optimizer.learning_rate)

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        if not self.sources:
            return
        with self.writer.as_default(step=self.state.batches):
            translations = self.translator.translate(self.sources, beam_size=1, nbest=1)
            for number, translation in enumerate(translations):
                if translation.alignment is not None:
                    image = attention_image(translation.alignment)
                    tf.summary.image(f"attention/{number}", image)
                tf.summary.text(f"attention/{number}/words", words(translation))
            if self.state.best_bleu is not None:
                tf.summary.scalar("development/best_bleu", self.state.best_bleu)

    def on_train_end(self, logs: Logs = None) -> None:
        self.writer.flush()


def attention_image(alignment: np.ndarray) -> np.ndarray:
    """Draw attention weights as an image: source words from left to right, target words downwards.

    Args:
        alignment: float [I, J], from 0 (black) to 1 (white); those of windows may be larger.

    Returns:
        uint8 [1, CELL · I, CELL · J, 1].
    """
    gray = np.round(255 * np.minimum(1, alignment)).astype(np.uint8)
    square = np.ones((CELL, CELL), np.uint8)
    return np.kron(gray, square)[np.newaxis, :, :, np.newaxis]


def words(translation: Translation) -> str:
    """The words of an image's columns and rows, as a list in Markdown."""
    end = SPECIAL_TOKENS[END_ID]
    columns = " ".join([*(translation.source_tokens or ()), end])
    rows = " ".join([*(translation.tokens or ()), end])
    return f"* columns: `{columns}`\n* rows: `{rows}`"
