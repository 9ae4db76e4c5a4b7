"""Evaluate the model on the development text during training; keep the best weights; stop early."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import sys
from collections.abc import Callable

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.data.batches import scoring_batches
from rnnsearch_tf.evaluation.bleu import bleu_of_model
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.runtime.progress import say
from rnnsearch_tf.training.averaging import assign_mean
from rnnsearch_tf.training.callbacks import Clock, Logs, MetricsLog
from rnnsearch_tf.training.checkpoint import TrainingState
from rnnsearch_tf.training.interruption import Interruption
from rnnsearch_tf.training.learning_rate import reached_limit
from rnnsearch_tf.training.training_text import Sides
from rnnsearch_tf.translation import Translator


def is_lower(loss: float, best: float | None) -> bool:
    """Whether a loss is finite and below the best so far (None: there is none yet)."""
    return math.isfinite(loss) and (best is None or loss < best)


class Development(keras.callbacks.Callback):
    """Scores the model every epoch, or every ``evaluate_every`` updates, and keeps its best weights
    in RUN/best.

    The score is the BLEU of a greedy translation of the development text; for a language model,
    which does not translate, it is the loss per target token. Training stops after ``patience``
    evaluations without a better score. At the end, the weights of the last ``training.average``
    evaluations are averaged, and kept if they score better.

    A signal stops an evaluation at once, and it is repeated when training resumes.

    Args:
        clock: counts the time of an evaluation.
        sentences: the development text; None: the last weights are the best.
    """

    def __init__(
        self,
        run: Run,
        state: TrainingState,
        clock: Clock,
        translator: Translator,
        sentences: Sides | None,
        metrics_log: MetricsLog,
        interruption: Interruption,
    ) -> None:
        super().__init__()
        self.run = run
        self.state = state
        self.clock = clock
        self.config = translator.config
        self.translator = translator
        self.metrics_log = metrics_log
        self.interruption = interruption
        self.sentences = sentences
        self._batches: list[dict[str, tf.Tensor]] | None = None  # of the development text
        self._losses: Callable[[dict[str, tf.Tensor]], tf.Tensor] | None = None

    def on_train_batch_end(self, batch: int | None, logs: Logs = None) -> None:
        every = self.config.training.evaluate_every
        if every and self.state.batches % every == 0:
            self.evaluate()

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        if not self.config.training.evaluate_every:
            self.evaluate()

    def catch_up(self) -> None:
        """Before the first update, do the evaluations that are due.

        A training that starts from another model scores its weights, so that worse ones are not
        kept. A resumed training deletes the weights of evaluations after its state, and repeats an
        evaluation that was interrupted. If its evaluations have other settings or sentences than
        those before, it scores the best weights again, so that scores of one kind are compared.
        """
        state = self.state
        if state.judged_by and state.judged_by != self._judged_by():
            self._judge_best_again()
        if state.began_from and not state.batches and self.sentences is not None:
            with self.interruption.at_once():
                self.score_weights("of the initial model")
                by_loss = self._criterion() == "loss"
                state.began_at = state.best_loss if by_loss else state.best_bleu
        for path in self.run.evaluated_weights():
            if path > self.run.weights_after(state.batches):
                path.unlink()
        if state.batches and state.evaluated != state.batches:
            if self.config.training.evaluate_every:
                self.on_train_batch_end(None)
            elif not state.batches_of_epoch:
                self.evaluate()

    def _judged_by(self) -> list[str]:
        """The sentences and the settings on which the score of some weights depends."""
        sentences = hashlib.sha256(json.dumps(self.sentences).encode()).hexdigest()
        judged_by = {"sentences": sentences}
        if self.model.reads_source:
            for name, value in dataclasses.asdict(self.config.search).items():
                if name not in ("beam_size", "batch_size"):  # evaluations have their own
                    judged_by[f"search.{name}"] = value
        return [f"{name}={value}" for name, value in judged_by.items()]

    def _judge_best_again(self) -> None:
        """Score the weights of RUN/best by the present settings; the model keeps its own. A
        training that early stopping ended stays ended.
        """
        state = self.state
        state.best_bleu = state.best_loss = None
        if reached_limit(state, self.config.training) != "patience":
            state.evaluations_since_best = 0
        if self.sentences is None or not self.run.best_weights.exists():
            return
        before = [tf.identity(value) for value in self.model.variables]  # with seeds of dropout
        with self.interruption.at_once():
            self.run.read_weights(self.model)
            self.score_weights(
                "of the best weights so far, as evaluations have other settings or sentences now",
                are_kept=True,
            )
        for variable, value in zip(self.model.variables, before):
            variable.assign(value)

    def evaluate(self) -> None:
        """Score the current weights, and keep them if they are the best so far. An interrupted
        evaluation leaves the state unchanged.
        """
        before = dataclasses.asdict(self.state)
        try:
            with self.interruption.at_once():
                self._evaluate()
        except BaseException:
            vars(self.state).update(before)
            raise

    def _evaluate(self) -> None:
        state = self.state
        settings = self.config.training
        state.evaluated = state.batches
        self.remember()
        if self.sentences is None:
            self.run.write_weights(self.model)
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

    def score_weights(self, description: str, are_kept: bool = False) -> bool:
        """Score the current weights, and keep them if they are the best so far.

        Args:
            description: what is scored, for the log.
            are_kept: whether RUN/best has these weights already.

        Returns:
            whether they are the best.
        """
        state = self.state
        state.judged_by = self._judged_by()
        by_loss = self._criterion() == "loss"
        values = {}
        words = []
        better = False
        if by_loss:
            loss = values["loss"] = self._development_loss()
            better = is_lower(loss, state.best_loss)
            words.append(f"loss {loss:.4f}")
        if self.model.reads_source:
            score = values["bleu"] = self._bleu()
            better = better if by_loss else state.best_bleu is None or score > state.best_bleu
            words.append(f"BLEU {score:.2f}")
        if better:
            state.best_bleu = values.get("bleu")
            state.best_loss = values.get("loss")
            if not are_kept:
                self.run.write_weights(self.model)
        self.clock.tick()
        scores = {"best_bleu": state.best_bleu, "best_loss": state.best_loss}
        self.metrics_log.write(
            "development",
            values | {name: value for name, value in scores.items() if value is not None},
        )
        best = state.best_loss if by_loss else state.best_bleu
        verdict = (
            "best so far"
            if better
            else "none yet"
            if best is None
            else f"best {best:.4f}"
            if by_loss
            else f"best {best:.2f}"
        )
        say(f"development {', '.join(words)} {description} ({verdict})")
        return better

    def finish(self) -> None:
        """At the end, score the last weights and the average of the last evaluations. RUN/best
        holds weights afterwards, whatever the scores.
        """
        state = self.state
        number = self.config.training.average
        if state.evaluated != state.batches:
            self.evaluate()
        if state.best_bleu is None and state.best_loss is None:
            self.run.write_weights(self.model)
        if number and self.sentences is not None and state.averaged != state.batches:
            state.averaged = state.batches
            self._average(number)

    def remember(self) -> None:
        """Write the current weights to RUN/evaluated if training.average needs them, and delete
        older ones that it does not need.
        """
        number = self.config.training.average
        if number:
            self.run.write_weights(self.model, self.run.weights_after(self.state.batches))
            for old in self.run.evaluated_weights()[:-number]:
                old.unlink()

    def _average(self, number: int) -> None:
        """Score the average of the last evaluations, then restore the model's weights."""
        kept = self.run.evaluated_weights()[-number:]
        if len(kept) < 2:
            say(
                f"training.average={number}: expected the weights of two evaluations or more, got"
                f" {len(kept)}; nothing is averaged: evaluate more often (training.evaluate_every)"
            )
            return
        before = [tf.identity(weight) for weight in self.model.trainable_variables]
        assign_mean(self.model, self.run, kept)
        self.score_weights(f"of the average of the last {len(kept)} evaluations")
        for weight, value in zip(self.model.trainable_variables, before):
            weight.assign(value)

    def _criterion(self) -> str:
        return "bleu" if self.model.reads_source else "loss"

    def _bleu(self) -> float:
        """BLEU, in percent, of the translated development text."""
        sources, references = self.sentences or ((), ())
        translations = self.translator.translate(list(sources), beam_size=1)
        return bleu_of_model([t.text for t in translations], references, self.config.target).score

    def _development_loss(self) -> float:
        """Mean negative log-likelihood per target token in nats, including end symbols, without
        label smoothing and dropout.
        """
        if self._batches is None:
            texts = self.translator.source_text, self.translator.target_text
            sentences = self.sentences or ((), ())
            self._batches = scoring_batches(*texts, sentences, self.config.data.batch_size)
        if self._losses is None:
            self._losses = tf.function(
                lambda inputs: self.model.token_losses(inputs)[1],
                autograph=False,
                reduce_retracing=True,
            )
        values = [self._losses(inputs).numpy() for inputs in self._batches]
        return float(sum(v.sum(dtype="float64") for v in values) / sum(v.size for v in values))
