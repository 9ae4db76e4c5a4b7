"""Trainings in processes of their own that are killed with SIGKILL: a program, since TensorFlow is
loaded once for all of them.

    python killed.py FOLDER RUN[=MOMENT[,MOMENT…]] … [-- section.key=value …]

Trains FOLDER/RUN for each RUN, each time killed at a MOMENT and then resumed, at last to its end. A
moment is

    replace:3   before the third file takes its place
    save:2      in the middle of the second checkpoint's model
    evaluate:1  in the middle of the first evaluation
    2.5         after 2.5 seconds of training

Prints a JSON line for each RUN: seconds of its last process.
"""

import json
import os
import pathlib
import signal
import sys
import threading
import time

SETTINGS = [
    "data.corpus=phrasebook",
    "data.phrasebook_size=60",
    "data.batch_size=10",
    "data.batching=bucketed",
    "model.embedding_size=6",
    "model.hidden_size=7",
    "model.initialization=variance_preserving",
    "model.embedding_dropout=0.2",
    "training.optimizer=adam",
    "training.learning_rate=0.01",
    "training.evaluate_sentences=3",
    "training.loss_reduction=token_mean",
    "training.checkpoint_every_minutes=0.000001",
    "training.epochs=3",
    "training.average=2",
    "search.maximum_length_ratio=1.0",
]

LANGUAGE_MODEL = ["model.system=cslm", "model.second_hidden_size=6"]
"""The smallest system, whose graph is traced in no time."""


def train(run, settings, moment):
    """The work of a child process."""
    from rnnsearch_tf.config import load_config
    from rnnsearch_tf.runs.folder import Run
    from rnnsearch_tf.training.fit import train as real

    if moment:
        arrange(moment)
    real(load_config(overrides=[*SETTINGS, *settings]), run, resume=Run(run).checkpoint.exists())


def arrange(moment):
    """See to it that this process is killed then."""
    from rnnsearch_tf.models.translation_model import TranslationModel
    from rnnsearch_tf.training.development import Development

    name, _, number = moment.partition(":")
    if not number:
        threading.Timer(float(moment), die).start()
        return
    left = [int(number)]

    def before(owner, attribute, act=lambda *arguments: die()):
        called = getattr(owner, attribute)

        def watched(*arguments, **keywords):
            left[0] -= 1
            if not left[0]:
                act(*arguments)
            return called(*arguments, **keywords)

        setattr(owner, attribute, watched)

    def half(model, path, *_):
        pathlib.Path(path).write_bytes(b"PK half of a model")
        die()

    if name == "replace":
        before(os, "replace")
    elif name == "save":
        before(TranslationModel, "save", half)
    else:
        before(Development, "_loss")


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def main(folder, *words):
    runs = words
    settings = []
    if "--" in words:
        runs = words[: words.index("--")]
        settings = words[words.index("--") + 1 :]
    import rnnsearch_tf.training.fit  # noqa: F401  in this process alone, before the children

    for word in runs:
        name, _, moments = word.partition("=")
        for moment in [*filter(None, moments.split(",")), None]:
            started = time.monotonic()
            child = os.fork()
            if not child:
                try:
                    train(os.path.join(folder, name), settings, moment)
                    os._exit(0)
                except BaseException as error:
                    print(repr(error), file=sys.stderr, flush=True)
                    os._exit(1)
            _, status = os.waitpid(child, 0)
            ended = os.waitstatus_to_exitcode(status)
            if ended not in (
                (0,)
                if moment is None
                else (0, -signal.SIGKILL)
                if ":" not in moment
                else (-signal.SIGKILL,)
            ):
                sys.exit(f"{word}: {moment}: expected to be killed then, ended with {ended}")
        print(json.dumps({"run": name, "seconds": time.monotonic() - started}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
