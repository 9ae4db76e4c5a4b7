"""What several workers must all know after a batch: how far training is, whether it ends, whether a
signal came.
"""

import signal

from rnnsearch_tf.runtime.backend import keras


class Agreement(keras.callbacks.Callback):
    """Gives every worker the chief's clock and decisions, so that all have the same learning rate
    and stop at the same batch.

    It waits for all workers, the chief's evaluation included. Goes behind the callbacks that
    decide, and before Interruption.

    Args:
        workers: Workers.
        state: TrainingState.
        interruption: Interruption.
    """

    def __init__(self, workers, state, interruption):
        super().__init__()
        self.workers = workers
        self.state = state
        self.interruption = interruption

    def on_train_batch_end(self, batch, logs=None):
        self.agree()

    def on_epoch_end(self, epoch, logs=None):
        self.agree()

    def agree(self):
        """Raises PeerLost where another worker is gone."""
        state = self.state
        asked = self.interruption.asked
        decided = (state.seconds, state.evaluations_since_best, self.model.stop_training)
        told = map(float, decided if self.workers.chief else (0, 0, 0))
        came = (float(asked == number) for number in (signal.SIGINT, signal.SIGTERM))
        seconds, evaluations, stop, *came = self.workers.agree(*told, *came)
        state.seconds, state.evaluations_since_best, self.model.stop_training = (
            seconds,
            int(evaluations),
            bool(stop),
        )
        if any(came):
            self.interruption.agreed = signal.SIGINT if came[0] else signal.SIGTERM
