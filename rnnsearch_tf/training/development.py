"""Evaluate the model on the development text during training; keep the best weights; stop early;
average the last evaluations.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import tensorflow as tf

from rnnsearch_tf.evaluation.bleu import bleu, tokenizer_for
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.runtime.progress import say
from rnnsearch_tf.training.callbacks import Progress
from rnnsearch_tf.training.schedule import Logs, TrainingState, reached_limit
from rnnsearch_tf.training.training_text import Sides
from rnnsearch_tf.translation import Translator


class Development(keras.callbacks.Callback):
    """Scores the model every epoch, or every ``evaluate_every`` updates, and keeps its best weights
    in RUN/best.

    The score is the BLEU of a greedy translation of the development text; for a language model,
    which does not translate, it is the loss per target token. Training stops after ``patience``
    evaluations without a better score. At the end, the weights of the last ``training.average``
    evaluations are averaged, and kept if they score better.

    Args:
        sentences: the development text; None: the last weights are the best.
        progress: logs the scores.
    """

    def __init__(
        self,
        run: Run,
        model: TranslationModel,
        state: TrainingState,
        translator: Translator,
        sentences: Sides | None,
        progress: Progress,
    ) -> None:
        super().__init__()
        self.set_model(model)
        self.run = run
        self.state = state
        self.settings = translator.config.training
        self.translator = translator
        self.sentences = sentences
        self.progress = progress
        self.metric = "bleu" if model.reads_source else "loss"

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        every = self.settings.evaluate_every
        if every and self.state.batches % every == 0:
            self.evaluate()

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        if not self.settings.evaluate_every:
            self.evaluate()

    def begin(self) -> None:
        """Remove the weights of evaluations that a killed training made after its checkpoint; score
        the model that a training starts from, so that worse weights are not kept.
        """
        last = self.run.weights_after(self.state.batches)
        for path in self.run.evaluated_weights():
            if path > last:
                path.unlink()
        if self.state.began_from and self.state.evaluated is None and self.sentences:
            self.state.evaluated = 0
            self.score_weights("of the initial model")

    def evaluate(self) -> None:
        """Score the current weights, and keep them if they are the best so far."""
        state = self.state
        state.evaluated = state.batches
        if self.sentences is None:
            self.run.write_weights(self.model)
            return
        if self.settings.average:
            self.run.write_weights(self.model, self.run.weights_after(state.batches))
            for old in self.run.evaluated_weights()[: -self.settings.average]:
                old.unlink()
        if self.score_weights(f"after {state.batches} batches, {state.seconds / 60:.1f} min"):
            state.evaluations_since_best = 0
        else:
            state.evaluations_since_best += 1
        if reached_limit(state, self.settings) == "patience":
            print(
                f"stopping: {self.settings.patience} evaluations without a better {self.metric}",
                file=sys.stderr,
            )
            self.model.stop_training = True

    def finish(self) -> None:
        """At the end, score the last weights and the average of the last evaluations. RUN/best
        holds weights afterwards, whatever the scores.
        """
        state = self.state
        if state.evaluated != state.batches:
            self.evaluate()
        if state.best is None:
            self.run.write_weights(self.model)
        done = state.averaged == state.batches
        if self.settings.average and not done and len(self.run.evaluated_weights()) > 1:
            state.averaged = state.batches
            self._average()

    def score_weights(self, which: str) -> bool:
        """Score the current weights, and keep them if they are the best so far; return whether
        they are. `which` describes them for the log.
        """
        state = self.state
        score = self._bleu() if self.metric == "bleu" else self._loss()
        better = is_better(score, state.best, self.metric)
        if better:
            state.best = score
            self.run.write_weights(self.model)
        self.progress.write(
            "development",
            {self.metric: score}
            | ({} if state.best is None else {f"best_{self.metric}": state.best}),
        )
        name, digits = ("BLEU", 2) if self.metric == "bleu" else ("loss", 4)
        best = "none yet" if state.best is None else f"best {state.best:.{digits}f}"
        say(f"development {name} {score:.{digits}f} {which} ({'best so far' if better else best})")
        return better

    def _average(self) -> None:
        """Score the mean of the last evaluations' weights, computed in float64, then restore the
        model's own.
        """
        paths = self.run.evaluated_weights()
        weights = self.model.trainable_variables
        own = [keras.ops.convert_to_numpy(weight) for weight in weights]
        sums = [np.zeros(value.shape) for value in own]
        for path in paths:
            self.run.read_weights(self.model, path)
            sums = [total + weight.numpy() for total, weight in zip(sums, weights)]
        for weight, total in zip(weights, sums):
            weight.assign(total / len(paths))
        self.score_weights(f"of the average of the last {len(paths)} evaluations")
        for weight, value in zip(weights, own):
            weight.assign(value)

    def _bleu(self) -> float:
        """BLEU, in percent, of the translated development text."""
        sources, references = self.sentences or ((), ())
        translations = self.translator.translate(list(sources), beam_size=1)
        config = self.translator.config.target
        texts = [translation.text for translation in translations]
        return bleu(texts, references, tokenizer_for(config.language), config.lowercase).score

    def _loss(self) -> float:
        """Mean negative log-likelihood per target token in nats, including end symbols, without
        label smoothing and dropout.
        """
        sources, targets = self.sentences or ((), ())
        tokens = self.translator.target_text.encode(tf.constant(targets)).flat_values
        return -sum(self.translator.score(sources, targets)) / int(tf.size(tokens))


def is_better(score: float, best: float | None, metric: str) -> bool:
    """Whether a score is finite and better than the best so far (None: there is none yet).

    After a best BLEU of 0 another 0 is better, too: BLEU cannot tell models of lines below four
    words from each other, and then the later weights are kept.
    """
    if best is None or not math.isfinite(score):
        return math.isfinite(score)
    return score < best if metric == "loss" else score > best or score == best == 0
