"""TensorBoard: curves of the training, and a picture of the attention after every epoch."""

import io

import tensorflow as tf

from rnnsearch_tf.backend import keras
from rnnsearch_tf.config import END_ID, SPECIAL_TOKENS
from rnnsearch_tf.evaluation.plots import alignment_figure
from rnnsearch_tf.extras import require
from rnnsearch_tf.translation import Translator


class TensorBoard(keras.callbacks.Callback):
    """Writes loss, perplexity, speed and gradient norm, and the alignments of some sentences.

    Args:
        folder: where the event files go.
        state: TrainingState.
        config: Config.
        texts: (source Text, target Text).
        sentences: (sources, references) of the development set, or None: then no pictures.
        every: batches between points of the curves.
        pictures: sentences drawn after every epoch.

    Raises:
        UserError: matplotlib, which draws the pictures, is not installed.
    """

    def __init__(self, folder, state, config, texts, sentences, every=100, pictures=4):
        super().__init__()
        require("pictures", "matplotlib")
        self.writer = tf.summary.create_file_writer(str(folder))
        self.state, self.config, self.texts, self.every = state, config, texts, every
        self.sources = list(sentences[0][:pictures]) if sentences else []
        self._translator = None

    def on_train_batch_end(self, batch, logs=None):
        if self.state.batches % self.every:
            return
        with self.writer.as_default(step=self.state.batches):
            for name, value in logs.items():
                tf.summary.scalar(f"training/{name}", value)
            tf.summary.scalar("training/learning_rate", self.model.optimizer.learning_rate)

    def on_epoch_end(self, epoch, logs=None):
        if not self.sources:
            return
        if self._translator is None:
            self._translator = Translator(self.model, *self.texts, self.config)
        with self.writer.as_default(step=self.state.batches):
            for number, translation in enumerate(self._translator.translate(self.sources, beam_size=1)):
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
