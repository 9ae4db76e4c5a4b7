"""The fit driver: trains a model by a configuration and writes a RUN folder.

    texts → vocabularies → model.compile → model.fit → best weights by development BLEU or loss

The same can be done by hand in a notebook with the same functions and classes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import sys
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from rnnsearch_tf.config import Config, TrainingConfig, load_config, save_config
from rnnsearch_tf.data.batches import Batches
from rnnsearch_tf.data.ids import Ids, open_ids
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.models import build_model
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.text.pipeline import Text, build_texts, load_texts
from rnnsearch_tf.training import warm_start
from rnnsearch_tf.training.callbacks import FiniteGradient, Progress
from rnnsearch_tf.training.checkpoint import Checkpoints, load_checkpoint
from rnnsearch_tf.training.development import Development
from rnnsearch_tf.training.model_card import write_model_card
from rnnsearch_tf.training.optimizers import compile_model
from rnnsearch_tf.training.schedule import TrainingSchedule, TrainingState, reached_limit
from rnnsearch_tf.training.training_text import (
    open_text,
    read_development,
    training_ids,
    write_development,
)
from rnnsearch_tf.translation import Translator

MAY_CHANGE = {
    "data": ("folder", "batching", "batch_size"),
    "training": (
        *("learning_rate", "schedule", "warmup_updates"),
        *("epochs", "maximum_updates", "maximum_minutes", "patience"),
        *("evaluate_every", "average", "checkpoint_every_minutes"),
    ),
}
"""Options that may change when a training is resumed, beside those of search. The others are fixed
by its text, saved model, optimizer and best score.
"""


def train(
    config: Config,
    output: str | os.PathLike[str],
    resume: bool = False,
    start_from: str | os.PathLike[str] | None = None,
    new_words: int = 0,
    distribute: str | None = None,
    pairs: Any = None,
    development: Any = None,
    callbacks: Sequence[keras.callbacks.Callback] = (),
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
        development: the development text, likewise; ``data.held_out`` then is not used.
        callbacks: further Keras callbacks. They see the training's metrics, but no development
            scores. ``training.schedule`` sets the learning rate.

    Returns:
        dict: ``best_bleu``, ``best_loss`` (float or None), of the best weights;
            ``batches``, ``minutes``, ``run`` (str).

    Raises:
        UsageError: the folder holds a training already and ``resume`` is not set, or
            another model or text than the one to resume or to start from; or text is given twice,
            as ``pairs`` and in ``config``.
        UserError: a file is missing or damaged, among them those of ``start_from``; or a gradient
            is not finite.
        KeyboardInterrupt: Ctrl-C or SIGTERM. Once training has started, the state is saved
            before this is raised, so that ``resume`` loses nothing.
    """
    run = Run(output)
    given = {"--from": start_from, "pairs": pairs, "development": development}
    if resume and (beside := [name for name, value in given.items() if value is not None]):
        raise UsageError(
            f"train: expected --resume alone, got it with {' and '.join(beside)}; {run} has the"
            " model and the text that it was started with: leave it out"
        )
    if new_words and start_from is None:
        raise UsageError(
            f"train: expected a model to start from (--from, start_from) for new_words={new_words},"
            " got none; name its run folder"
        )
    keras.utils.set_random_seed(config.training.seed)
    with _strategy_scope(distribute):
        if resume:
            training = _resume(run, config)
        else:
            training = _start(run, config, start_from, new_words, pairs, development)
        return _run(training, run, callbacks, is_new=not resume)


def _strategy_scope(distribute: str | None) -> contextlib.AbstractContextManager[Any]:
    """The scope of a MirroredStrategy over all GPUs; without `distribute`, none."""
    if distribute not in (None, "mirrored"):
        raise UsageError(f"train: expected distribute to be mirrored, or None, got {distribute!r}")
    if distribute is None:
        return contextlib.nullcontext()
    return _mirrored().scope()


@functools.cache
def _mirrored() -> tf.distribute.Strategy:
    """The MirroredStrategy of this process; TensorFlow confuses the sums of two."""
    return tf.distribute.MirroredStrategy()


@dataclasses.dataclass
class _Training:
    """A training before its next update."""

    config: Config
    texts: tuple[Text, Text]  # source, target
    ids: Ids
    model: TranslationModel  # compiled
    state: TrainingState


def _start(
    run: Run,
    config: Config,
    start_from: str | os.PathLike[str] | None,
    new_words: int,
    pairs: Any,
    development: Any,
) -> _Training:
    """Start a training, and write the files that RUN has before the first update."""
    run.refuse_training()
    training_pairs, development_pairs = open_text(config, pairs, development)
    state = TrainingState()
    texts: tuple[Text, Text] | None = None
    model: TranslationModel | None = None
    if start_from is not None:
        texts, model, state.began_from = warm_start.start_from(
            start_from, config, new_words, training_pairs
        )
    run.clear()
    save_config(config, run.config)
    if texts is None:
        print("building the source and the target vocabulary", file=sys.stderr)
        source, target = build_texts(config, training_pairs)
        texts = source, target
    for side, text in zip(("source", "target"), texts):
        text.save(run, side)
    write_development(run, development_pairs, config.training.evaluate_sentences)
    ids = training_ids(run, config, texts, training_pairs)
    if model is None:
        model = build_model(config, *(text.vocabulary.size for text in texts))
    compile_model(model, config)
    return _Training(config, texts, ids, model, state)


def _resume(run: Run, config: Config) -> _Training:
    """Load a training from its RUN."""
    run.refuse_resuming()
    old, new = _fixed_settings(load_config(run.config)), _fixed_settings(config)
    for name in old:
        if old[name] != new[name]:
            raise UsageError(
                f"{run.config}: --resume expects {name}={old[name]}, with which the training began,"
                f" got {new[name]}; take the value from that file, or start a new training with"
                " another --output"
            )
    texts = load_texts(run, config)
    ids = open_ids(run.ids)
    model = build_model(config, *(text.vocabulary.size for text in texts))
    compile_model(model, config)
    state = load_checkpoint(run, model)
    save_config(config, run.config)
    return _Training(config, texts, ids, model, state)


def _fixed_settings(config: Config) -> dict[str, Any]:
    """{dotted name: value} of the options that may not change when a training is resumed."""
    return {
        f"{section}.{name}": value
        for section in ("source", "target", "data", "model", "training")
        for name, value in dataclasses.asdict(getattr(config, section)).items()
        if name not in MAY_CHANGE.get(section, ())
    }


def _run(
    training: _Training,
    run: Run,
    callbacks: Sequence[keras.callbacks.Callback],
    is_new: bool,
) -> dict[str, Any]:
    """Train, evaluate, and write all files; return the summary."""
    config, model, state = training.config, training.model, training.state
    settings = config.training
    batches = Batches(training.ids, config.data.batching, config.data.batch_size, settings.seed)
    if state.epoch_size:  # another batch size may have been set: as many pairs are read
        state.batches_of_epoch = state.batches_of_epoch * batches.per_epoch // state.epoch_size
    state.epoch_size = batches.per_epoch
    _say_beginning(model, state, settings, is_new)

    translator = Translator(model, *training.texts, config)
    progress = Progress(run.metrics, state, settings)
    development = Development(run, model, state, translator, read_development(run), progress)
    checkpoints = Checkpoints(run, model, state, config)
    all_callbacks = [
        *([FiniteGradient()] if settings.non_finite_gradient == "error" else []),
        TrainingSchedule(settings, state),
        progress,
        development,
        *callbacks,
        checkpoints,
    ]
    with checkpoints:
        if is_new:  # so that a killed training can be resumed, and a full disk is reported now
            checkpoints.save()
        development.begin()
        _fit(model, batches, state, settings, all_callbacks)
        checkpoints.stop_if_asked()
        development.finish()
        checkpoints.save()
    write_model_card(run, config, model, state)
    return {
        "best_bleu": state.best if model.reads_source else None,
        "best_loss": None if model.reads_source else state.best,
        "batches": state.batches,
        "minutes": state.seconds / 60,
        "run": str(run),
    }


def _fit(
    model: TranslationModel,
    batches: Batches,
    state: TrainingState,
    settings: TrainingConfig,
    callbacks: list[keras.callbacks.Callback],
) -> None:
    """Call ``model.fit`` for all epochs; before that, for the rest of the epoch in which a resumed
    training stopped, since Keras gives all epochs of one ``fit`` the same number of batches.
    """
    while not reached_limit(state, settings):
        model.fit(
            batches.stream(state.epoch, state.batches_of_epoch),
            initial_epoch=state.epoch,
            epochs=state.epoch + 1 if state.batches_of_epoch else settings.epochs,
            steps_per_epoch=batches.per_epoch - state.batches_of_epoch,
            callbacks=callbacks,
            shuffle=False,
            verbose=0,
        )
        if model.stop_training:  # also a callback of the user may have set it
            return


def _say_beginning(
    model: TranslationModel, state: TrainingState, settings: TrainingConfig, is_new: bool
) -> None:
    """Say what is trained, and where a resumed training stands."""
    replicas = tf.distribute.get_strategy().num_replicas_in_sync
    lines = [f"sharing every batch between {replicas} replicas"] if replicas > 1 else []
    lines.append(f"{type(model).__name__}: {model.count_params():,} parameters")
    position = (
        f"batch {state.batches:,}, epoch {state.epoch + 1} ({state.batches_of_epoch:,} batches of"
        f" it), {state.seconds / 60:.1f} min"
    )
    if limit := reached_limit(state, settings):
        value = getattr(settings, limit)
        lines.append(
            f"nothing left to train: training.{limit}={value} is reached, at {position}; raise it"
            " above that, with --set: the limit is the total"
        )
    else:
        lines += [] if is_new else [f"resuming after {position}"]
        lines.append("building the graph of an update; the first one takes longer")
    print("\n".join(lines), file=sys.stderr)
