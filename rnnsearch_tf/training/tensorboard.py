"""TensorBoard: curves of the training, and a picture of the attention after every epoch."""

import io

import tensorflow as tf

from rnnsearch_tf.backend import keras
from rnnsearch_tf.config import END_ID, SPECIAL_TOKENS
from rnnsearch_tf.evaluation.plots import alignment_figure
from rnnsearch_tf.extras import require
from rnnsearch_tf.training.callbacks import BATCHES_BETWEEN_RECORDS

PICTURES = 4
"""Sentences drawn after every epoch."""


class TensorBoard(keras.callbacks.Callback):
    """Writes loss, perplexity, speed and gradient norm, and the alignments of some sentences.

    Args:
        folder: where the event files go.
        state: TrainingState.
        translator: Translator of the model.
        sentences: (sources, references) of the development set, or None: then no pictures.

    Raises:
        UserError: matplotlib, which draws the pictures, is not installed.
    """

    def __init__(self, folder, state, translator, sentences):
        super().__init__()
        require("pictures", "matplotlib")
        self.writer = tf.summary.create_file_writer(str(folder))
        self.state, self.translator = state, translator
        self.sources = list(sentences[0][:PICTURES]) if sentences else []

    def on_train_batch_end(self, batch, logs=None):
        if self.state.batches % BATCHES_BETWEEN_RECORDS:
            return
        with self.writer.as_default(step=self.state.batches):
            for name, value in logs.items():
                tf.summary.scalar(f"training/{name}", value)
            tf.summary.scalar("training/learning_rate", self.model.optimizer.learning_rate)

    def on_epoch_end(self, epoch, logs=None):
        if not self.sources:
            return
        with self.writer.as_default(step=self.state.batches):
            for number, translation in enumerate(self.translator.translate(self.sources, beam_size=1)):
                tf.summary.image(f"attention/{number}", attention_image(translation)[tf.newaxis])
            if self.state.best_bleu is not None:
                tf.summary.scalar("development/best_bleu", self.state.best_bleu)

    def on_train_end(self, logs=None):
        self.writer.flush()


def attention_image(translation):
    """The heatmap of a Translation as an image, uint8 [height, width, 4]."""
    buffer = io.BytesIO()
    sides = ([*tokens, SPECIAL_TOKENS[END_ID]] for tokens in (translation.source_tokens, translation.tokens))
    alignment_figure(translation.alignment, *sides).savefig(buffer, format="png")
    return tf.image.decode_png(buffer.getvalue(), channels=4)
