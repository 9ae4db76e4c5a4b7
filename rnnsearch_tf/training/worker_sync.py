"""Synchronize the workers after a batch: training time, the decision to stop, signals."""

from __future__ import annotations

import signal

from rnnsearch_tf.distributed.workers import SingleWorker
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.training.callbacks import Logs
from rnnsearch_tf.training.checkpoint import TrainingState
from rnnsearch_tf.training.interruption import Interruption


class Agreement(keras.callbacks.Callback):
    """Copies the chief's clock and decisions to every worker, so that all have the same learning
    rate and stop at the same batch.

    It waits for all workers, including the chief's evaluation. Its place is after the callbacks
    that decide, and before Interruption.
    """

    def __init__(
        self, workers: SingleWorker, state: TrainingState, interruption: Interruption
    ) -> None:
        super().__init__()
        self.workers = workers
        self.state = state
        self.interruption = interruption

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        self.synchronize()

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        self.synchronize()

    def synchronize(self) -> None:
        """Wait for all workers and take over the chief's values and any signal.

        Raises:
            PeerLost: another worker was lost.
        """
        state = self.state
        asked = self.interruption.received
        decided = (state.seconds, state.evaluations_since_best, self.model.stop_training)
        # the sum over all workers is the chief's value
        sent = map(float, decided if self.workers.chief else (0, 0, 0))
        signals = (float(asked == number) for number in (signal.SIGINT, signal.SIGTERM))
        seconds, evaluations, stop, *received = self.workers.all_reduce(*sent, *signals)
        state.seconds = seconds
        state.evaluations_since_best = int(evaluations)
        self.model.stop_training = bool(stop)
        if any(received):
            self.interruption.agreed = signal.SIGINT if received[0] else signal.SIGTERM
