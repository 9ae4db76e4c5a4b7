"""Scores on the development text while training, the best weights, early stopping."""

import dataclasses
import math
import sys

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.data.dataset import scoring_batches
from rnnsearch_tf.evaluation.bleu import bleu_of_model
from rnnsearch_tf.runtime.progress import announced, coloured
from rnnsearch_tf.training.averaging import assign_mean
from rnnsearch_tf.training.callbacks import updates_done


def is_lower(loss: float, best: float | None) -> bool:
    """Whether a loss is finite and below the best so far; None: there is none yet."""
    return math.isfinite(loss) and (best is None or loss < best)


class Development(keras.callbacks.Callback):
    """Scores the model every epoch, or every ``evaluate_every`` updates, and keeps its best weights
    in RUN/best.

    The score is BLEU of a translation of the development text; under ``training.best_by: loss``,
    and for a language model, which does not translate, it is the loss of a target word.
    ``patience`` evaluations without a better score stop the training. At the end the weights of the
    last ``training.average`` evaluations are averaged, and kept if they score better.

    Args:
        run: Run.
        state: TrainingState.
        clock: Clock, told to count the time this takes.
        translator: Translator of the model.
        sentences: (source list, reference list), or None: then the last weights are the best.
        metrics_log: MetricsLog, told every result.
        interruption: Interruption; an evaluation is stopped at once, and made anew when the
            training goes on.
    """

    def __init__(self, run, state, clock, translator, sentences, metrics_log, interruption):
        super().__init__()
        self.run = run
        self.state = state
        self.clock = clock
        self.config = translator.config
        self.translator = translator
        self.metrics_log = metrics_log
        self.interruption = interruption
        self.sentences = sentences
        self.is_over = False
        self._loss = None

    def on_train_batch_end(self, batch, logs=None):
        every = self.config.training.evaluate_every
        if every and self.state.batches % (every * self.config.training.accumulate) == 0:
            self.evaluate()

    def on_epoch_end(self, epoch, logs=None):
        if not self.config.training.evaluate_every:
            self.evaluate()

    def catch_up(self):
        """Before the first update: what a stop left undone.

        A training that begins from another model scores its weights, so that none worse than they
        are kept. One that goes on forgets the weights of evaluations that its state has not seen,
        and makes the evaluation that was stopped.
        """
        state = self.state
        if state.began_from and not state.batches and self.sentences is not None:
            with self.interruption.at_once():
                self.score_weights("of the model as it begins")
        for path in self.run.evaluated_weights():
            if path > self.run.weights_after(state.batches):
                self.run.remove(path)
        if state.batches and state.evaluated != state.batches:
            if self.config.training.evaluate_every:
                self.on_train_batch_end(None)
            elif not state.batches_of_epoch:
                self.evaluate()

    def evaluate(self):
        """Score the present weights, keep them if they are the best so far; an evaluation that is
        stopped leaves no trace in the state.
        """
        if (
            not self.is_over
            and updates_done(self.state, self.config.training) < self.config.training.evaluate_after
        ):
            return
        before = dataclasses.asdict(self.state)
        try:
            with self.interruption.at_once():
                self._evaluate()
        except BaseException:
            vars(self.state).update(before)
            raise

    def _evaluate(self):
        state = self.state
        settings = self.config.training
        state.evaluated = state.batches
        self.remember()
        if self.sentences is None:
            self.keep()
            return
        if self.score_weights(f"after {state.batches} batches, {state.seconds / 60:.1f} min"):
            state.evaluations_since_best = 0
        else:
            state.evaluations_since_best += 1
        if settings.patience and state.evaluations_since_best >= settings.patience:
            print(
                f"stopping: {settings.patience} evaluations without a better {self._criterion()}",
                file=sys.stderr,
            )
            self.model.stop_training = True

    def score_weights(self, which):
        """Score the model as it is; whether it is the best so far, and so kept. ``which`` says in
        the log what was scored.
        """
        state = self.state
        by_loss = self._criterion() == "loss"
        values = {}
        words = []
        if by_loss:
            loss = values["loss"] = self._development_loss()
            better = is_lower(loss, state.best_loss)
            words.append(f"loss {loss:.4f}")
        if self.model.reads_source:
            score = values["bleu"] = self._bleu()
            better = better if by_loss else state.best_bleu is None or score > state.best_bleu
            words.append(f"BLEU {score:.2f}")
        if better:
            state.best_bleu, state.best_loss = values.get("bleu"), values.get("loss")
            self.keep()
        self.clock.tick()
        best = {"best_bleu": state.best_bleu, "best_loss": state.best_loss}
        self.metrics_log.write(
            "development",
            values | {name: value for name, value in best.items() if value is not None},
        )
        best = state.best_loss if by_loss else state.best_bleu
        best = "none yet" if best is None else f"best {best:.4f}" if by_loss else f"best {best:.2f}"
        best = coloured("best so far", "green") if better else best
        print(f"\ndevelopment {', '.join(words)} {which} ({best})", file=sys.stderr)
        return better

    def finish(self):
        """At the end: score the last weights and the average of the last evaluations, and see that
        RUN/best holds some.
        """
        state = self.state
        number = self.config.training.average
        self.is_over = True
        if state.evaluated != state.batches:
            self.evaluate()
        if state.best_bleu is None and state.best_loss is None:
            self.keep()
        if number and self.sentences is not None and state.averaged != state.batches:
            state.averaged = state.batches
            self._average(number)

    def keep(self):
        """Write the present weights to RUN/best."""
        self.run.write_weights(self.model)

    def remember(self):
        """Write the present weights to RUN/evaluated too, and drop the oldest there beyond
        training.keep_evaluated.
        """
        number = self.config.training.keep_evaluated
        if number:
            self.run.write_weights(self.model, self.run.weights_after(self.state.batches))
            for old in self.run.evaluated_weights()[:-number]:
                self.run.remove(old)

    def _average(self, number):
        """Score the average; the model has its own weights again afterwards."""
        kept = self.run.evaluated_weights()[-number:]
        if len(kept) < 2:
            return
        own = [tf.identity(weight) for weight in self.model.trainable_variables]
        assign_mean(self.model, self.run, kept)
        self.score_weights(f"of the average of the last {len(kept)} evaluations")
        for weight, value in zip(self.model.trainable_variables, own):
            weight.assign(value)

    def _criterion(self):
        return self.config.training.best_by if self.model.reads_source else "loss"

    def _bleu(self):
        """BLEU in percent of the translated development text."""
        sources, references = self.sentences
        options = dict(beam_size=self.config.training.evaluate_beam_size, nbest=1)
        with announced("translating the development text"):
            translations = self.translator.translate(list(sources), **options)
        return bleu_of_model([t.text for t in translations], references, self.config.target).score

    def _development_loss(self):
        """Mean negative log-likelihood of a target word, in nats, end symbols included; no
        smoothing, no dropout.
        """
        if self._loss is None:
            texts = self.translator.source_text, self.translator.target_text
            batches = scoring_batches(*texts, self.sentences, self.config.data.batch_size)
            self._loss = (
                batches,
                tf.function(
                    lambda inputs: self.model.token_losses(inputs)[1],
                    autograph=False,
                    reduce_retracing=True,
                ),
            )
        batches, nll = self._loss
        values = [nll(inputs).numpy() for inputs in batches]
        return float(sum(v.sum(dtype="float64") for v in values) / sum(v.size for v in values))
