"""The fit driver: a configuration in, a RUN folder out.

    texts → vocabularies → model.compile → model.fit → best weights by development BLEU or loss

Everything it does can be done by hand in a notebook with the same pieces.
"""

from __future__ import annotations

import dataclasses
import os
import sys
import time

from rnnsearch_tf.backend import keras
from rnnsearch_tf.config import Config, load_config, save_config
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.data.counting import build_corpus_texts
from rnnsearch_tf.data.dataset import training_dataset
from rnnsearch_tf.data.numbered import NumberedBatches
from rnnsearch_tf.data.prepared import PreparedPairs
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.models import TranslationLoss, build_model
from rnnsearch_tf.parallel import training_shards
from rnnsearch_tf.run import Run
from rnnsearch_tf.text.pipeline import load_text, shortfall
from rnnsearch_tf.training import starting
from rnnsearch_tf.training.callbacks import Clock, Limits, MetricsLog, ProgressLine, Schedule, share_done, updates_done
from rnnsearch_tf.training.development import Development
from rnnsearch_tf.training.interruption import Interruption
from rnnsearch_tf.training.model_card import write_model_card
from rnnsearch_tf.training.optimizers import build_optimizer
from rnnsearch_tf.training.state import TrainingState, load_state, save_state

SAVED_SETTINGS = (
    *("optimizer", "rho", "epsilon", "beta_1", "beta_2", "momentum", "global_clipnorm", "loss_reduction"),
    *("label_smoothing", "accumulate", "non_finite_gradient", "precision", "seed"),
)
"""Options of the training section that are part of a saved model; the others may change when it is resumed."""


def train(
    config: Config, output: str | os.PathLike, resume: bool = False, start_from: str | os.PathLike | None = None, new_words: int = 0
) -> dict:
    """Train a model, or go on training it.

    Args:
        config: Config.
        output: path of the RUN folder, made if it is not there.
        resume: go on from RUN/checkpoints.
        start_from: path of another RUN folder, whose best weights, vocabularies and SentencePiece models this training begins with;
            optimizer, counters and best score are new. ``config`` has the model and the texts of that RUN, as
            :func:`continued_config` makes it.
        new_words: words of the new text to add to each of its vocabularies at most.

    Returns:
        dict: ``best_bleu``, ``best_loss`` (float or None), ``batches``, ``minutes``, ``run`` (str).

    Raises:
        UsageError: the folder holds a training already and ``resume`` is not set, or
            another model or text than the one to resume or to start from.
        UserError: a file is missing or damaged, among them those of ``start_from``.
        KeyboardInterrupt: as any other exception once training has begun, after saving the
            state, so that ``resume`` loses nothing.
    """
    run = Run(output)
    _check_output(run, config, resume, start_from, new_words)
    keras.utils.set_random_seed(config.training.seed)
    start = None if start_from is None else starting.start_from(start_from, config, new_words)
    config = config if start is None else start.config
    _write_config(run, config)
    pairs = open_corpus(config, "train")
    texts = _texts(run, config, pairs) if start is None else _kept(run, start.texts)
    report_pairs(pairs.check())
    if isinstance(pairs, PreparedPairs):
        pairs.check_texts(texts)
    if resume:
        model, state = load_state(run)
        print(_standing(state, config.training), file=sys.stderr)
    else:
        model = build_model(config, *(text.vocabulary.size for text in texts)) if start is None else start.model
        state = TrainingState(began_from=None if start is None else start.origin)
        compile_model(model, config)
    model.shards = training_shards(config.data.batch_size)
    report_parameters(model)
    callbacks, development = _callbacks(run, config, state, texts)
    development.set_model(model)
    interruption = Interruption()
    try:
        with interruption:
            if state.began_from and not state.batches:
                development.begin()
            _fit(model, config, texts, pairs, state, [*callbacks, interruption])
    except BaseException as stop:  # Ctrl-C, a bad gradient, a file that broke: what was learned is not lost
        if state.batches or isinstance(stop, KeyboardInterrupt):
            save_state(run, model, state)
            print(f"\nstopped; everything is saved. Go on with: {run.resume_command}{_unevaluated(run)}", file=sys.stderr)
        raise
    save_state(run, model, state)  # before the last evaluation, which can be interrupted too
    development.finish()
    save_state(run, model, state)
    write_model_card(run, config, model, state)
    scores = {"best_bleu": state.best_bleu, "best_loss": state.best_loss}
    return scores | {"batches": state.batches, "minutes": state.seconds / 60, "run": str(run)}


def _unevaluated(run):
    return "" if run.best_weights.exists() else "; the model has not been evaluated yet, and cannot be used before"


def _standing(state, settings):
    """What a resumed training says at first: where it goes on, or that it is over, and by which limit."""
    where = f"batch {state.batches:,}, epoch {state.epoch + 1} ({state.batches_of_epoch:,} batches of it), {state.seconds / 60:.1f} min"
    limits = {
        "epochs": state.epoch, "maximum_updates": updates_done(state, settings), "maximum_minutes": state.seconds / 60,
    }
    for name, reached in limits.items():
        limit = getattr(settings, name)
        if limit is not None and reached >= limit:
            return (
                f"nothing left to train: training.{name}={limit} is reached, at {where}; "
                f"raise it, for example with --set training.{name}={2 * limit}"
            )
    return f"going on after {where}"


def compile_model(model, config):
    """``model.compile`` with what the configuration says."""
    training = config.training
    model.compile(
        optimizer=build_optimizer(training),
        loss=TranslationLoss(reduction=training.loss_reduction, label_smoothing=training.label_smoothing),
    )
    model.optimizer.build(model.trainable_variables)  # or the graph of an update is traced a second time once they are there


def report_pairs(report, part="training"):
    if report.skipped:
        print(f"{part} text: {report.skipped:,} bad lines left out; the first: {report.examples[0]}", file=sys.stderr)


def report_parameters(model):
    print(f"{type(model).__name__}: {model.count_params():,} parameters", file=sys.stderr)


def _fit(model, config, texts, pairs, state, callbacks):
    """``model.fit``; a resumed training first finishes the epoch it was in."""
    settings = config.training
    if state.epoch >= settings.epochs or share_done(state, settings) >= 1.0:
        return
    fit = dict(callbacks=callbacks, verbose=0, shuffle=False)
    model.stop_training = False
    if isinstance(pairs, PreparedPairs):
        _fit_prepared(model, NumberedBatches(pairs, config.data, settings.seed), state, settings.epochs, fit)
        return
    epochs = training_dataset(*texts, pairs, config.data, settings.seed, epoch=lambda: state.epoch)
    if state.batches_of_epoch:
        rest = epochs.skip(state.batches_of_epoch)
        if next(iter(rest.take(1)), None) is None:  # stopped after the epoch's last batch
            state.epoch, state.batches_of_epoch = state.epoch + 1, 0
        else:
            model.fit(rest, initial_epoch=state.epoch, epochs=state.epoch + 1, **fit)
    if state.epoch < settings.epochs and not model.stop_training:
        model.fit(epochs, initial_epoch=state.epoch, epochs=settings.epochs, **fit)


def _fit_prepared(model, batches, state, epochs, fit):
    """``model.fit`` on numbered batches: a resumed training begins with the number that comes next."""
    if state.batches_of_epoch >= batches.an_epoch:  # stopped after the epoch's last batch
        state.epoch, state.batches_of_epoch = state.epoch + 1, 0
    while state.epoch < epochs and not model.stop_training:
        rest = batches.an_epoch - state.batches_of_epoch
        last = state.epoch + 1 if state.batches_of_epoch else epochs  # the rest of one epoch, then whole ones
        numbers = batches.dataset(state.epoch * batches.an_epoch + state.batches_of_epoch)
        model.fit(numbers, initial_epoch=state.epoch, epochs=last, steps_per_epoch=rest, **fit)


def _callbacks(run, config, state, texts):
    clock, log = Clock(state), MetricsLog(run.metrics, state)
    pairs, sentences = open_corpus(config, "development"), None
    if pairs is not None:
        first = [pair for number, pair in enumerate(pairs) if number < config.training.evaluate_sentences]
        sentences = tuple(zip(*first))  # (sources, references)
        report_pairs(pairs.report, "development")
    evaluation = Development(run, state, clock, config, texts, sentences, log)
    saving = SaveState(run, state, config.training.checkpoint_every_minutes)
    callbacks = [clock, Schedule(state, config.training), Limits(state, config.training), log, ProgressLine(state, config.training)]
    if config.training.tensorboard:
        from rnnsearch_tf.training.tensorboard import TensorBoard  # an extra

        callbacks.append(TensorBoard(run.tensorboard, state, config, texts, sentences))
    return [*callbacks, evaluation, saving], evaluation


class SaveState(keras.callbacks.Callback):
    """Saves the training every so many minutes."""

    def __init__(self, run, state, minutes):
        super().__init__()
        self.run, self.state, self.seconds = run, state, 60 * minutes
        self._last = time.monotonic()

    def on_train_batch_end(self, batch, logs=None):
        if time.monotonic() - self._last >= self.seconds:
            save_state(self.run, self.model, self.state)
            self._last = time.monotonic()


def _check_output(run, config, resume, start_from, new_words):
    """Refuse a folder, or a combination of arguments, with which no training can begin or go on."""
    if resume and start_from is not None:
        raise UsageError(f"train: expected resume or start_from, got both; {run} knows what it began from: leave start_from out")
    if new_words and start_from is None:
        raise UsageError(f"train: expected start_from beside new_words={new_words}, got none; name the RUN that they are added to")
    if not resume:
        run.refuse_training()
    if start_from is not None and run.path.resolve() == Run(start_from).path.resolve():
        raise UsageError(f"{run}: expected another folder than the one to start from, got the same; choose another --output")
    if resume and run.config.exists():
        _check_unchanged(load_config(run.config), config, run.config)


def _write_config(run, config):
    """Make the folder and write the effective configuration."""
    try:
        run.path.mkdir(parents=True, exist_ok=True)
        save_config(config, run.config)
        run.record([run.config])
    except OSError as error:
        raise UsageError(f"{run}: expected a folder that can be written to, got: {error.strerror}") from None


def _check_unchanged(before, config, written):
    """Refuse to resume with settings that the saved model and optimizer already have otherwise."""
    for section in ("source", "target", "model", "training"):
        old, new = (dataclasses.asdict(getattr(c, section)) for c in (before, config))
        for key in SAVED_SETTINGS if section == "training" else old:
            if old[key] != new[key]:
                raise UsageError(
                    f"{written}: --resume expects {section}.{key}={old[key]}, with which the training began, got {new[key]}; "
                    "take the value from that file, or start anew with another --output"
                )


def _texts(run, config, pairs):
    """(source Text, target Text): those of RUN, or built from the training text and saved there."""
    run.verify(run.recorded(run.text_files()))
    missing = [side for side in ("source", "target") if not run.vocabulary(side).exists()]
    if missing and isinstance(pairs, PreparedPairs):
        texts = dict(zip(("source", "target"), pairs.texts(config)))
    else:
        texts = _built(config, pairs, missing)
    for side, text in texts.items():
        if message := shortfall(text, side, getattr(config, side)):
            print(message, file=sys.stderr)
        text.save(run, side)
    run.record(run.text_files())
    return tuple(texts.get(side) or load_text(run, side, getattr(config, side)) for side in ("source", "target"))


def _built(config, pairs, sides):
    """{side: Text} of the training text."""
    if sides:
        print(f"building the {' and the '.join(sides)} vocabulary", file=sys.stderr)
    return dict(zip(sides, build_corpus_texts(config, pairs, sides)))


def _kept(run, texts):
    """(source Text, target Text), written to RUN, over those of a training that saved nothing."""
    for side, text in zip(("source", "target"), texts):
        text.save(run, side)
    run.record(run.text_files())
    return texts
