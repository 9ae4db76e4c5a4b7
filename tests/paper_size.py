"""A training of the paper's size, measured: a program, since memory is that of a whole process.

    python paper_size.py RUN DIE section.key=value …

Trains configs/rnnsearch-50.yaml with these settings, or resumes RUN. A checkpoint is saved before
the update DIE, and SIGKILL comes after it; 0: neither. Prints a JSON line for each update of the
process, {"seconds", "core seconds", "peak"}, and at the end {"peak"}: most memory that the process
held so far, in bytes.
"""

import json
import os
import signal
import sys
import time

import keras
from process_memory import peak_memory

from rnnsearch_tf.config import load_config, shipped_config
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.training.callbacks import SaveState
from rnnsearch_tf.training.checkpoint import save_state
from rnnsearch_tf.training.fit import train


class Watch(keras.callbacks.Callback):
    """Prints what updates take."""

    def on_train_batch_begin(self, batch, logs=None):
        self.began = time.monotonic(), time.process_time()

    def on_train_batch_end(self, batch, logs=None):
        now = time.monotonic(), time.process_time()
        seconds, core_seconds = (end - began for end, began in zip(now, self.began))
        say({"seconds": seconds, "core seconds": core_seconds, "peak": peak_memory()})


def die_after(number):
    """See to it that one checkpoint is saved, before the last update of this process."""

    def on_train_batch_end(callback, batch, logs=None):
        if callback.state.batches == number - 1:
            save_state(callback.run, callback.model, callback.state, callback.config)
        if callback.state.batches == number:
            os.kill(os.getpid(), signal.SIGKILL)

    SaveState.on_train_batch_end = on_train_batch_end


def say(measured):
    print(json.dumps(measured), flush=True)


def main(folder, die, *settings):
    run = Run(folder)
    config = load_config(shipped_config("rnnsearch-50"), overrides=settings)
    if int(die):
        die_after(int(die))
    train(config, run, resume=run.state.exists(), callbacks=[Watch()])
    say({"peak": peak_memory()})


if __name__ == "__main__":
    main(*sys.argv[1:])
