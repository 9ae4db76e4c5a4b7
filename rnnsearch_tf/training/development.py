"""Development BLEU by beam search while training, the best weights, early stopping."""

import pathlib
import sys

from rnnsearch_tf.backend import keras
from rnnsearch_tf.evaluation.bleu import bleu
from rnnsearch_tf.models.build import BEST_WEIGHTS, EVALUATED, write_weights
from rnnsearch_tf.translation import Translator


class DevelopmentBleu(keras.callbacks.Callback):
    """Translates the development set every epoch, or every ``evaluate_every`` updates.

    The weights of the best BLEU so far are kept in RUN/best; ``patience`` evaluations
    without a better one stop the training.

    Args:
        run: path of the RUN folder.
        state: TrainingState.
        clock: Clock, told to count the time this takes.
        config: Config.
        texts: (source Text, target Text).
        sentences: (source list, reference list), or None: then the last weights are the best.
        metrics_log: MetricsLog, told every result.
    """

    def __init__(self, run, state, clock, config, texts, sentences, metrics_log):
        super().__init__()
        self.run, self.state, self.clock, self.config = pathlib.Path(run), state, clock, config
        self.texts, self.metrics_log = texts, metrics_log
        self.sentences = sentences
        self._translator = None
        self._evaluated = None  # batches at the last evaluation

    def on_train_batch_end(self, batch, logs=None):
        every = self.config.training.evaluate_every
        if every and self.state.batches % (every * self.config.training.accumulate) == 0:
            self.evaluate()

    def on_epoch_end(self, epoch, logs=None):
        if not self.config.training.evaluate_every:
            self.evaluate()

    def evaluate(self):
        """Translate, score, keep the weights if they are the best so far."""
        state, settings = self.state, self.config.training
        if self.sentences is None or not self.model.reads_source:  # a language model does not translate
            self.keep()
            self.remember()
            return
        if state.batches / settings.accumulate < settings.evaluate_after:
            return
        self._evaluated = state.batches
        self.remember()
        if self._translator is None:
            self._translator = Translator.from_model(self.model, *self.texts, self.config)
        sources, references = self.sentences
        options = dict(beam_size=settings.evaluate_beam_size, nbest=1)
        translations = self._translator.translate(list(sources), **options)
        lowercase = self.config.target.lowercase  # a model that cannot write capitals is not scored on them
        score = bleu([t.text for t in translations], list(references), lowercase=lowercase).score
        better = state.best_bleu is None or score > state.best_bleu
        if better:
            state.best_bleu, state.evaluations_since_best = score, 0
            self.keep()
        else:
            state.evaluations_since_best += 1
        self.clock.tick()
        self.metrics_log.write("development", {"bleu": score, "best_bleu": state.best_bleu})
        print(
            f"\ndevelopment BLEU {score:.2f} after {state.batches} batches, {state.seconds / 60:.1f} min"
            + (" (best so far)" if better else f" (best {state.best_bleu:.2f})"),
            file=sys.stderr,
        )
        if settings.patience and state.evaluations_since_best >= settings.patience:
            print(f"stopping: {settings.patience} evaluations without a better BLEU", file=sys.stderr)
            self.model.stop_training = True

    def finish(self):
        """Evaluate the last weights too, and see that there are some in RUN/best."""
        if self._evaluated != self.state.batches:
            self.evaluate()
        if self.state.best_bleu is None:
            self.keep()

    def keep(self):
        """Write the present weights to RUN/best."""
        write_weights(self.model, self.run / BEST_WEIGHTS)

    def remember(self):
        """Write the present weights to RUN/evaluated too, and drop the oldest there beyond training.keep_evaluated."""
        folder, number = self.run / EVALUATED, self.config.training.keep_evaluated
        if number:
            write_weights(self.model, folder / f"batch-{self.state.batches:08}.weights.h5")
            for old in sorted(folder.glob("batch-*"))[:-number]:
                old.unlink()
