"""The fit driver: trains a model by a configuration and writes a RUN folder.

    texts → vocabularies → model.compile → model.fit → best weights by development BLEU or loss

The same can be done by hand in a notebook with the same functions and classes.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import sys
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.config import Config, TrainingConfig, save_config
from rnnsearch_tf.data.batches import Batches
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.models import build_model
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.runtime.progress import say
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.text.pipeline import Text, build_texts, load_texts
from rnnsearch_tf.training import warm_start
from rnnsearch_tf.training.arguments import check_arguments, listed_callbacks
from rnnsearch_tf.training.callbacks import (
    Clock,
    FiniteGradient,
    GivenCallbacks,
    MetricsLog,
    NonFiniteGradient,
    ProgressLine,
    SaveState,
    Schedule,
)
from rnnsearch_tf.training.development import Development
from rnnsearch_tf.training.interruption import Interruption
from rnnsearch_tf.training.learning_rate import reached_limit
from rnnsearch_tf.training.model_card import write_model_card
from rnnsearch_tf.training.optimizers import compile_model
from rnnsearch_tf.training.checkpoint import TrainingState, load_state, save_state
from rnnsearch_tf.training.training_text import (
    Sides,
    check_given,
    open_text,
    read_text,
    with_given_development,
    write_text,
)
from rnnsearch_tf.translation import Translator


def train(
    config: Config,
    output: str | os.PathLike[str],
    resume: bool = False,
    start_from: str | os.PathLike[str] | None = None,
    new_words: int = 0,
    distribute: str | None = None,
    pairs: Any = None,
    development: Any = None,
    callbacks: Any = None,
) -> dict[str, Any]:
    """Train a model, or resume a training.

    Args:
        config: Config.
        output: path of the RUN folder, created if missing.
        resume: continue from RUN/checkpoints.
        start_from: path of another RUN folder, from whose best weights, vocabularies and
            SentencePiece models this training starts; optimizer, counters and best score are new.
            ``config`` has that RUN's model and texts: it begins with ``base: RUN/config.yaml``.
        new_words: words of the new text to add to each vocabulary, at most.
        distribute: "mirrored": a replica of the model on each GPU of this machine, each with its
            share of every batch; the batches are those of a single replica.
        pairs: the training text; ``config`` must then name none. Pairs, or an iterable of
            (source, target) strings. RUN keeps its ids, so that ``resume`` needs no pairs.
        development: the development text, likewise.
        callbacks: further Keras callbacks: a list of them, or one. They see the
            training's metrics, but no development scores.

    Returns:
        dict: ``best_bleu``, ``best_loss`` (float or None), of the best weights;
            ``batches``, ``minutes``, ``run`` (str).

    Raises:
        UsageError: the folder holds a training already and ``resume`` is not set, or
            another model or text than the one to resume or to start from; text is given twice, as
            ``pairs`` and in ``config``; or a callback sets the learning rate or restores weights,
            which the training does.
        UserError: a file is missing or damaged, among them those of ``start_from``.
        KeyboardInterrupt: Ctrl-C or SIGTERM. Once training has started, the state is saved
            before this or any other exception is raised, so that ``resume`` loses nothing.
    """
    if distribute not in (None, "mirrored"):
        raise UsageError(f"train: expected distribute to be mirrored, or None, got {distribute!r}")
    given_callbacks = GivenCallbacks(listed_callbacks(callbacks))
    strategy = _mirrored() if distribute == "mirrored" else tf.distribute.get_strategy()
    if distribute == "mirrored":
        print(
            f"sharing every batch between {strategy.num_replicas_in_sync} replicas", file=sys.stderr
        )
    keras.utils.set_random_seed(config.training.seed)
    run = Run(output)
    with strategy.scope():
        training = _prepare(run, config, resume, start_from, new_words, pairs, development)
        return training.run_to_end(not resume, given_callbacks)


def _mirrored() -> tf.distribute.Strategy:
    """The current strategy, or a MirroredStrategy over all GPUs."""
    if tf.distribute.has_strategy():
        return tf.distribute.get_strategy()
    return _one_mirrored()


@functools.cache
def _one_mirrored() -> tf.distribute.Strategy:
    """The MirroredStrategy of this process; TensorFlow confuses the sums of two."""
    return tf.distribute.MirroredStrategy()


@dataclasses.dataclass
class _Training:
    """A training from its first update to its end."""

    run: Run
    config: Config
    texts: tuple[Text, Text]  # source, target
    batches: Batches
    sentences: Sides | None  # of the development text
    model: TranslationModel  # compiled
    state: TrainingState

    def __post_init__(self) -> None:
        self.clock = Clock(self.state)
        self.interruption = Interruption()

    def run_to_end(self, save_first: bool, given_callbacks: GivenCallbacks) -> dict[str, Any]:
        """Train, evaluate, and write all files; return the summary.

        Args:
            save_first: whether to save a checkpoint before the first update.
            given_callbacks: the user's.
        """
        development, callbacks = self._callbacks(given_callbacks)
        for callback in callbacks:
            callback.set_model(self.model)
        saved = self.state.batches
        with self.interruption:
            if save_first:
                # so that a killed training can be resumed, and a full disk is reported now
                self._save()
            try:
                development.catch_up()
                self._fit(callbacks)
                given_callbacks.end()
                self._save()  # before the last evaluation, which can be interrupted too
                saved = self.state.batches
                with self.interruption.at_once():
                    development.finish()
                self._save()
            except BaseException as stop:  # a signal, a bad gradient, a broken file: save progress
                if isinstance(stop, NonFiniteGradient):  # the weights are of no more use
                    raise
                if self.state.batches > saved:
                    self._save_after(stop)
                say(
                    "stopped; progress is saved. Resume with:"
                    f" {self.run.resume_command}{_not_evaluated(self.run)}"
                )
                raise
        write_model_card(self.run, self.config, self.model, self.state)
        return {
            "best_bleu": self.state.best_bleu,
            "best_loss": self.state.best_loss,
            "batches": self.state.batches,
            "minutes": self.state.seconds / 60,
            "run": str(self.run),
        }

    def _callbacks(
        self, given: GivenCallbacks
    ) -> tuple[Development, list[keras.callbacks.Callback]]:
        """(the one that evaluates, all callbacks in their order)."""
        run = self.run
        config = self.config
        state = self.state
        translator = Translator(self.model, *self.texts, config)
        log = MetricsLog(run.metrics, self.clock)
        if self.sentences is not None and self.model.reads_source:
            # opens the files of the search, so that a missing one does not wait for an evaluation
            translator.translate([], beam_size=1)
        development = Development(
            run, state, self.clock, translator, self.sentences, log, self.interruption
        )
        return development, [
            FiniteGradient(state, config.training),
            self.clock,
            Schedule(state, config.training),
            log,
            ProgressLine(self.clock, config.training),
            development,
            given,
            SaveState(run, state, config),
            self.interruption,
        ]

    def _fit(self, callbacks: Sequence[keras.callbacks.Callback]) -> None:
        """Call ``model.fit`` for one epoch after the other, first for the rest of the epoch in
        which a resumed training stopped.

        (Within one ``fit``, Keras gives every epoch the number of batches of the first, which is
        smaller when a training is resumed.)
        """
        model = self.model
        state = self.state
        model.stop_training = False
        if reached_limit(state, self.config.training):
            return
        rest_of_epoch = self.batches.dataset(lambda: (state.epoch, state.batches_of_epoch))
        # training stopped after the epoch's last batch: only the end of the epoch is left
        if state.batches_of_epoch == state.epoch_size:
            epoch = state.epoch
            logs = model.get_metrics_result()
            for callback in callbacks:
                callback.on_epoch_end(epoch, logs)
        print("building the graph of an update; the first one takes longer", file=sys.stderr)
        while not model.stop_training and not reached_limit(state, self.config.training):
            model.fit(
                rest_of_epoch,
                initial_epoch=state.epoch,
                epochs=state.epoch + 1,
                steps_per_epoch=state.epoch_size - state.batches_of_epoch,
                callbacks=callbacks,
                shuffle=False,
                verbose=0,
            )

    def _save(self) -> None:
        save_state(self.run, self.model, self.state, self.config)

    def _save_after(self, stop: BaseException) -> None:
        """Save a training that an exception stopped; an error of this names that exception too."""
        try:
            self._save()
        except UserError as error:
            raise UserError(
                f"{error}; the previous checkpoint is kept"
                + (f"; training stopped by: {stop}" if str(stop) else "")
            ) from None


def _prepare(
    run: Run,
    config: Config,
    resume: bool,
    start_from: str | os.PathLike[str] | None,
    new_words: int,
    pairs: Any,
    development: Any,
) -> _Training:
    """Start or resume a training, and write the files that RUN has before the first update."""
    check_arguments(run, config, resume, start_from, new_words)
    if resume and (pairs is not None or development is not None):
        raise UsageError(
            f"train: expected resume or pairs, got both; {run} has the pairs that it was started"
            " with: leave pairs and development out"
        )
    check_given(config, pairs, development)
    config = with_given_development(config, run, development, resume)
    texts: tuple[Text, Text] | None = None
    if resume:
        texts = load_texts(run, config)
        ids, sentences = read_text(run, config, texts)
        save_config(config, run.config)
        model, state = load_state(run)
    else:
        training, of_development = open_text(config, pairs, development)
        initial_model = origin = None
        if start_from is not None:
            config, texts, initial_model, origin = warm_start.start_from(
                start_from, config, new_words, None if pairs is None else training
            )
        run.clear()
        save_config(config, run.config)
        if texts is None:
            print("building the source and the target vocabulary", file=sys.stderr)
            source, target = build_texts(config, training)
            texts = source, target
        _save_texts(run, texts)
        ids, sentences = write_text(run, config, texts, training, of_development)
        model = initial_model or build_model(config, *(text.vocabulary.size for text in texts))
        compile_model(model, config)
        state = TrainingState(began_from=origin)
    data = config.data
    batches = Batches(ids, data.batching, data.batch_size, config.training.seed)
    state.set_epoch_size(batches.per_epoch)
    if resume:
        print(_resume_message(state, config.training), file=sys.stderr)
    print(f"{type(model).__name__}: {model.count_params():,} parameters", file=sys.stderr)
    return _Training(run, config, texts, batches, sentences, model, state)


def _not_evaluated(run: Run) -> str:
    return (
        ""
        if run.best_weights.exists()
        else "; the model has not been evaluated yet, and cannot be used before that"
    )


def _resume_message(state: TrainingState, settings: TrainingConfig) -> str:
    """The first message of a resumed training: where it resumes, or which limit is reached."""
    position = (
        f"batch {state.batches:,}, epoch {state.epoch + 1} ({state.batches_of_epoch:,} batches of"
        f" it), {state.seconds / 60:.1f} min"
    )
    if name := reached_limit(state, settings):
        limit = getattr(settings, name)
        return (
            f"nothing left to train: training.{name}={limit} is reached, at {position}; "
            f"raise it, for example with --set training.{name}={2 * limit}"
        )
    return f"resuming after {position}"


def _save_texts(run: Run, texts: tuple[Text, Text]) -> None:
    for side, text in zip(("source", "target"), texts):
        text.save(run, side)
