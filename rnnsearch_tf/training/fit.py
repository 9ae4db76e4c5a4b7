"""The fit driver: a configuration in, a RUN folder out.

    texts → vocabularies → model.compile → model.fit → best weights by development BLEU or loss

Everything it does can be done by hand in a notebook with the same pieces.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.distributed.addresses import DISTRIBUTIONS
from rnnsearch_tf.config import Config, default_of, save_config, saved_config
from rnnsearch_tf.data.corpus import check_development, open_corpus
from rnnsearch_tf.data.counting import build_corpus_texts
from rnnsearch_tf.data.dataset import training_dataset
from rnnsearch_tf.data.prepared.batches import NumberedBatches
from rnnsearch_tf.data.prepared.store import PreparedPairs
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files.atomic import locked
from rnnsearch_tf.layers.dropout import vary_dropout
from rnnsearch_tf.models import build_model
from rnnsearch_tf.runtime.cores import training_shards
from rnnsearch_tf.runtime.progress import announced
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.text.pipeline import load_text, shortfall
from rnnsearch_tf.training import warm_start
from rnnsearch_tf.distributed.agreement import Agreement
from rnnsearch_tf.training.callbacks import (
    Clock,
    Limits,
    MetricsLog,
    NonFiniteGradient,
    ProgressLine,
    Schedule,
    updates_done,
)
from rnnsearch_tf.training.development import Development
from rnnsearch_tf.training.interruption import Interruption
from rnnsearch_tf.training.model_card import write_model_card
from rnnsearch_tf.training.optimizers import compile_model
from rnnsearch_tf.training.bad_batch import name_batch
from rnnsearch_tf.training.checkpoint import TrainingState, load_state, save_state, saved_settings
from rnnsearch_tf.translation import Translator
from rnnsearch_tf.files.untrusted import check_links
from rnnsearch_tf.distributed.workers import SingleWorker, join, losing_peers, mirrored


def train(
    config: Config,
    output: str | os.PathLike,
    resume: bool = False,
    start_from: str | os.PathLike | None = None,
    new_words: int = 0,
    skip_batch: bool = False,
    distribute: str | None = None,
) -> dict:
    """Train a model, or go on training it.

    Args:
        config: Config.
        output: path of the RUN folder, created if missing.
        resume: go on from RUN/checkpoints.
        start_from: path of another RUN folder, whose best weights, vocabularies and SentencePiece
            models this training begins with; optimizer, counters and best score are new. ``config``
            has the model and the texts of that RUN, as :func:`continued_config` makes it.
        new_words: words of the new text to add to each of its vocabularies at most.
        skip_batch: with ``resume``, leave out the batch whose gradient was not finite.
        distribute: "mirrored": a replica of the model on each GPU of this machine, each with its
            share of a batch; "multi-worker": this process is one of those that TF_CONFIG names,
            which must all see the folder and the text. ``data.batch_size`` is that of all together,
            and the batches are those of one process: it may be resumed with another number of them.

    Returns:
        dict: ``best_bleu``, ``best_loss`` (float or None), ``batches``, ``minutes``, ``run`` (str).
            The scores of a worker that
        is not the chief are None.

    Raises:
        UsageError: the folder holds a training already and ``resume`` is not set, or
            another model or text than the one to resume or to start from; or TF_CONFIG names no
            workers.
        UserError: a file is missing or damaged, among them those of ``start_from``.
        KeyboardInterrupt, Terminated: Ctrl-C or SIGTERM; as any other exception once training has
            begun, after saving the state, so that ``resume`` loses nothing. PeerLost, a Terminated:
            another worker has ended.
    """
    if distribute not in (None, *DISTRIBUTIONS):
        raise UsageError(
            f"train: expected distribute to be one of {', '.join(DISTRIBUTIONS)}, or None, got"
            f" {distribute!r}"
        )
    workers = join() if distribute == "multi-worker" else SingleWorker()
    strategy = mirrored() if distribute == "mirrored" else tf.distribute.get_strategy()
    if distribute == "mirrored":
        print(
            f"sharing every batch between {strategy.num_replicas_in_sync} replicas", file=sys.stderr
        )
    if not resume:  # which another number of workers may have begun
        _check_workers(config.training, workers)
    keras.utils.set_random_seed(config.training.seed)
    if config.training.deterministic:
        tf.config.experimental.enable_op_determinism()
    run = Run(output)
    with losing_peers(), contextlib.ExitStack() as stack, strategy.scope():
        if workers.chief:
            begun = _begin(run, config, resume, start_from, new_words, skip_batch, stack)
        else:
            workers.all_reduce(0)  # the chief has saved what it begins with
            begun = _follow(run)
        return _train(run, workers, *begun, save_first=not resume or skip_batch)


def _begin(run, config, resume, start_from, new_words, skip_batch, stack):
    """(config, texts, pairs, model, state) of a training that begins or goes on; writes what RUN
    has before the first update.

    RUN is locked until the ExitStack ends.
    """
    check_links(run.path)
    _check_output(run, config, resume, start_from, new_words, skip_batch)
    if not resume:  # which an earlier version may have begun
        check_development(config)
    texts = model = origin = None
    if start_from is not None:
        config, texts, model, origin = warm_start.start_from(start_from, config, new_words)
    stack.enter_context(locked(run.path))
    if not resume:
        run.refuse_training()  # one may have come meanwhile
        run.clear()
    save_config(config, run.config)
    run.record([run.config])
    pairs = open_corpus(config, "train")
    if isinstance(pairs, PreparedPairs):
        with announced("comparing the prepared corpus with its checksums"):
            pairs.verify()
    if resume:
        run.verify(run.recorded(run.text_files()))
        model, state = load_state(run)
        texts = _load_texts(run, config)
    else:
        texts = texts or _texts(config, pairs)
        _save_texts(run, texts)
    report_pairs(pairs.check())
    _check_weights(pairs)
    if isinstance(pairs, PreparedPairs):
        pairs.check_texts(texts)
    if resume:
        _skip_refused(run, state, skip_batch)
        print(_standing(state, config.training), file=sys.stderr)
    else:
        model = model or build_model(config, *(text.vocabulary.size for text in texts))
        state = TrainingState(began_from=origin)
        compile_model(model, config)
    print(f"{type(model).__name__}: {model.count_params():,} parameters", file=sys.stderr)
    return config, texts, pairs, model, state


def _check_workers(training, workers):
    """Raise UsageError where an option is for several workers, and there is one."""
    default = default_of("training.worker_gradients")
    if workers.count == 1 and training.worker_gradients != default:
        raise UsageError(
            "training.worker_gradients: has no effect with one worker; train with several"
            f" (rnnsearch launch), or leave training.worker_gradients at its default, {default}"
        )


def _follow(run):
    """What _begin gives, for a worker that is not the chief: as the chief has saved it."""
    if not run.state.exists():
        raise UserError(
            f"{run}: expected the folder that the chief, worker 0, writes, found none; put it on a"
            " file system that all workers share"
        )
    config = saved_config(run.config)
    texts = _load_texts(run, config)
    model, state = load_state(run)
    state.refused = False
    return config, texts, open_corpus(config, "train"), model, state


def _train(run, workers, config, texts, pairs, model, state, save_first):
    """From the first update to the model card."""
    model.workers = workers
    workers.exchange_dtype = tf.bfloat16 if config.training.worker_gradients == "bfloat16" else None
    model.shards = training_shards(
        config.data.batch_size // workers.count // model.distribute_strategy.num_replicas_in_sync
    )
    interruption = Interruption(workers)
    if not workers.chief:
        return _train_along(run, workers, config, texts, pairs, model, state, interruption)
    callbacks, development, limits = _callbacks(
        run, config, state, Translator(model, *texts, config), interruption, workers
    )
    for callback in callbacks:
        callback.set_model(model)
    save = lambda: save_state(run, model, state, config)  # noqa: E731
    saved = state.batches
    with interruption:
        if save_first:
            # a training that is killed has a beginning to go on from, and a disk that is full is
            # met now
            save()
        workers.all_reduce(0)
        try:
            development.catch_up()
            _fit(model, config, texts, pairs, state, callbacks, workers)
            save()  # before the last evaluation, which can be interrupted too
            saved = state.batches
            with interruption.at_once():
                development.finish()
            save()
        except (
            BaseException
        ) as stop:  # a signal, a bad gradient, a file that broke: what was learned is not lost
            if state.batches > saved or state.refused:
                limits.take_back()
                _save_stopped(save, stop)
            print(
                "\nstopped; everything is saved. Go on with:"
                f" {run.resume_command}{_unevaluated(run)}",
                file=sys.stderr,
            )
            if isinstance(stop, NonFiniteGradient):
                with interruption.at_once():
                    refused = _batches(
                        config, texts, pairs, state, callbacks[0], SingleWorker()
                    )().take(1)
                    raise _named(
                        stop, run, name_batch(next(iter(refused)), texts, pairs, run.refused_batch)
                    ) from None
            raise
    write_model_card(run, config, model, state)
    workers.barrier()
    return _summary(run, state)


def _train_along(run, workers, config, texts, pairs, model, state, interruption):
    """The updates of a worker that is not the chief, which writes nothing."""
    limits = Limits(state, config.training)
    agreement = Agreement(workers, state, interruption)
    callbacks = [Clock(state), Schedule(state, config.training), limits, agreement, interruption]
    for callback in callbacks:
        callback.set_model(model)
    vary_dropout(limits.dropouts(), workers.index)
    with interruption:
        _fit(model, config, texts, pairs, state, callbacks, workers)
        workers.barrier()
    return _summary(run, state) | {"best_bleu": None, "best_loss": None}


def _summary(run, state):
    scores = {"best_bleu": state.best_bleu, "best_loss": state.best_loss}
    return scores | {"batches": state.batches, "minutes": state.seconds / 60, "run": str(run)}


def _save_stopped(save, stop):
    """Save a training that something stopped; if it cannot be saved, say what stopped it too."""
    try:
        save()
    except UserError as error:
        raise UserError(
            f"{error}; the checkpoint before it is kept"
            + (f"; training stopped by: {stop}" if str(stop) else "")
        ) from None


def _named(stop, run, lines):
    """The error of a batch whose gradient is not finite, with the lines that it is made of."""
    return NonFiniteGradient(
        f"{stop}, of {lines} (with their text in {run.refused_batch}); the training is saved as it"
        f" was before that batch; leave it out: {run.resume_command} --skip-batch; or begin anew"
        " with a lower training.learning_rate, or training.non_finite_gradient=skip"
    )


def _skip_refused(run, state, skip):
    """Leave the refused batch out if that is asked for; else it is tried again."""
    if skip and not state.refused:
        raise UserError(
            f"{run}: expected a training that stopped at a batch, got one that did not; leave"
            " --skip-batch out"
        )
    if skip:
        state.skip()
    state.refused = False


def _unevaluated(run):
    return (
        ""
        if run.best_weights.exists()
        else "; the model has not been evaluated yet, and cannot be used before"
    )


def _standing(state, settings):
    """What a resumed training says at first: where it goes on, or that it is over, and by which
    limit.
    """
    where = (
        f"batch {state.batches:,}, epoch {state.epoch + 1} ({state.batches_of_epoch:,} batches of"
        f" it), {state.seconds / 60:.1f} min"
    )
    if name := _reached(state, settings):
        limit = getattr(settings, name)
        return (
            f"nothing left to train: training.{name}={limit} is reached, at {where}; "
            f"raise it, for example with --set training.{name}={2 * limit}"
        )
    return f"going on after {where}"


def _check_weights(pairs):
    """Raise UserError where the weights of the corpora leave an epoch without a pair."""
    sizes = (
        pairs.sizes
        if isinstance(pairs, PreparedPairs)
        else [(corpus.report.kept, weight) for corpus, weight in pairs.corpora]
    )
    if not any(round(size * weight) for size, weight in sizes):
        found = " + ".join(f"{weight:g} of {size:,}" for size, weight in sizes)
        raise UserError(
            f"data.corpora: expected weights that give an epoch at least one pair, got {found}"
            " pairs; choose larger ones"
        )


def report_pairs(report, part="training"):
    if report.skipped:
        print(
            f"{part} text: {report.skipped:,} bad lines left out; the first: {report.examples[0]}",
            file=sys.stderr,
        )


def _fit(model, config, texts, pairs, state, callbacks, workers):
    """``model.fit`` of one epoch after the other; a resumed training first finishes the epoch it
    was in.

    (Within one ``fit`` Keras gives every epoch the number of batches of the first; drawn pairs make
    more or fewer.)
    """
    clock = callbacks[0]
    settings = config.training
    model.stop_training = False
    for callback in callbacks:
        if isinstance(callback, Agreement):
            callback.synchronize()
    if _reached(state, settings):
        return
    rest_of_epoch = _batches(config, texts, pairs, state, clock, workers)
    # All its batches were learned from when the training was stopped: only what fit does at its end
    # is left.
    if state.epoch_read:
        epoch = state.epoch
        logs = model.get_metrics_result()
        for callback in callbacks:
            callback.on_epoch_end(epoch, logs)
    if workers.chief:
        print("building the graph of an update; the first one takes longer", file=sys.stderr)
    while not model.stop_training and not _reached(state, settings):
        model.fit(
            rest_of_epoch(),
            initial_epoch=state.epoch,
            epochs=state.epoch + 1,
            callbacks=callbacks,
            verbose=0,
        )


def _batches(config, texts, pairs, state, clock, workers):
    """A function without arguments that gives, as a Dataset, this worker's share of the batches of
    the epoch in progress that are not learned from yet.
    """
    seed = config.training.seed
    share = (workers.index, workers.count)
    if not isinstance(pairs, PreparedPairs):
        epochs = training_dataset(
            *texts, pairs, config.data, seed, lambda: state.epoch, clock.set_epoch_size, *share
        )
        return lambda: epochs.skip(state.batches_of_epoch) if state.batches_of_epoch else epochs
    numbered = NumberedBatches(pairs, config.data, seed, *share)
    epochs = numbered.epochs()
    size = numbered.batches_per_epoch

    def rest():
        clock.set_epoch_size(state.epoch, size)
        if state.batches_of_epoch:
            done = min(size, state.batches_of_epoch)  # an epoch of larger batches may have fewer
            return numbered.dataset(state.epoch * size + done).take(size - done)
        epochs.epoch.assign(state.epoch)
        return epochs

    return rest


def _reached(state, settings):
    """The name of the limit that ends the training now, or None."""
    limits = {
        "epochs": (settings.epochs, state.epoch),
        "maximum_updates": (settings.maximum_updates, updates_done(state, settings)),
        "maximum_minutes": (settings.maximum_minutes, state.seconds / 60),
        "patience": (settings.patience, state.evaluations_since_best),
    }
    return next(
        (
            name
            for name, (limit, reached) in limits.items()
            if limit is not None and reached >= limit
        ),
        None,
    )


def _callbacks(run, config, state, translator, interruption, workers):
    clock = Clock(state)
    log = MetricsLog(run.metrics, state)
    pairs = open_corpus(config, "development")
    sentences = None
    if pairs is not None:
        first = [
            pair for number, pair in enumerate(pairs) if number < config.training.evaluate_sentences
        ]
        sentences = tuple(zip(*first))  # (sources, references)
        report_pairs(pairs.report, "development")
    evaluation = Development(run, state, clock, translator, sentences, log, interruption)
    saving = SaveState(run, state, config)
    limits = Limits(state, config.training)
    callbacks = [
        clock,
        Schedule(state, config.training),
        limits,
        log,
        ProgressLine(state, config.training),
    ]
    if config.training.tensorboard:
        from rnnsearch_tf.training.tensorboard import TensorBoard  # an extra

        callbacks.append(TensorBoard(run.tensorboard, state, translator, sentences))
    agreement = [Agreement(workers, state, interruption)] if workers.count > 1 else []
    return [*callbacks, evaluation, saving, *agreement, interruption], evaluation, limits


class SaveState(keras.callbacks.Callback):
    """Saves the training every so many minutes."""

    def __init__(self, run, state, config):
        super().__init__()
        self.run = run
        self.state = state
        self.config = config
        self._last = time.monotonic()

    def on_train_batch_end(self, batch, logs=None):
        if time.monotonic() - self._last >= 60 * self.config.training.checkpoint_every_minutes:
            save_state(self.run, self.model, self.state, self.config)
            self._last = time.monotonic()


def _check_output(run, config, resume, start_from, new_words, skip_batch):
    """Refuse a folder, or a combination of arguments, with which no training can begin or go on."""
    if resume and start_from is not None:
        raise UsageError(
            f"train: expected resume or start_from, got both; {run} knows what it began from: leave"
            " start_from out"
        )
    if skip_batch and not resume:
        raise UsageError(
            "train: expected resume beside skip_batch, got none; it leaves out the batch at which a"
            " training stopped"
        )
    if new_words and start_from is None:
        raise UsageError(
            f"train: expected start_from beside new_words={new_words}, got none; name the RUN that"
            " they are added to"
        )
    if start_from is not None and run.path.resolve() == Run(start_from).path.resolve():
        raise UsageError(
            f"{run}: expected another folder than the one to start from, got the same; choose"
            " another --output"
        )
    if not resume:
        run.refuse_training()
    if resume and run.config.exists():
        _check_unchanged(saved_config(run.config), config, run.config)


def _check_unchanged(before, config, written):
    """Refuse to resume with settings that the saved model and optimizer already have otherwise."""
    new = saved_settings(config)
    for name, old in saved_settings(before).items():
        if old != new.get(name):
            raise UsageError(
                f"{written}: --resume expects {name}={old}, with which the training began, got"
                f" {new.get(name)}; take the value from that file, or start anew with another"
                " --output"
            )


def _texts(config, pairs):
    """(source Text, target Text) of the training text."""
    if isinstance(pairs, PreparedPairs):
        texts = pairs.texts(config)
    else:
        print("building the source and the target vocabulary", file=sys.stderr)
        texts = build_corpus_texts(config, pairs)
    for side, text in zip(("source", "target"), texts):
        if message := shortfall(text, side, getattr(config, side)):
            print(message, file=sys.stderr)
    return tuple(texts)


def _load_texts(run, config):
    """(source Text, target Text) that RUN has."""
    return tuple(load_text(run, side, getattr(config, side)) for side in ("source", "target"))


def _save_texts(run, texts):
    for side, text in zip(("source", "target"), texts):
        text.save(run, side)
    run.record(run.text_files())
