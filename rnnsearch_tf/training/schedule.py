"""The schedule and the limits of a configuration for ``model.fit``. The rates are computed in
learning_rate.py.
"""

from __future__ import annotations

from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.training.callbacks import Clock, Logs, Schedule
from rnnsearch_tf.training.checkpoint import TrainingState
from rnnsearch_tf.training.learning_rate import reached_limit
from rnnsearch_tf.training.optimizers import check_training_section


class TrainingSchedule(Schedule):
    """A Keras callback with which ``model.fit`` trains as :func:`train` does.

    It sets the learning rate before every batch (``training.warmup_updates``,
    ``training.schedule``) and stops at ``training.maximum_updates``, ``maximum_minutes`` or
    ``epochs``. What it does not do: evaluate, keep the best weights, average
    (``training.average``), stop by ``training.patience``. ``fit`` leaves the last weights.

    Give one to each training. In a second ``fit`` it continues where the first one ended, but not
    in another process, as after ``keras.callbacks.BackupAndRestore``: :func:`train` can be resumed.

    Raises:
        UsageError: `config` is not such a section; or the model is compiled with
            ``steps_per_execution``: Keras then calls no callback before every batch.

    Args:
        config: the ``training`` section of a configuration.

    Example:
        schedule = TrainingSchedule(config.training)
        model.fit(dataset, epochs=config.training.epochs, callbacks=[schedule])
    """

    def __init__(self, config: TrainingConfig) -> None:
        check_training_section("TrainingSchedule", config)
        super().__init__(TrainingState(), config)
        self._clock = Clock(self.state)

    def on_train_begin(self, logs: Logs = None) -> None:
        self._clock = Clock(self.state)  # the time between two trainings is not counted
        steps = self.model.steps_per_execution
        if steps > 1:
            raise UsageError(
                "TrainingSchedule: expected a model compiled with steps_per_execution=1, got"
                f" {steps}; leave it out: the learning rate is set before every batch"
            )

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        self._clock.on_train_batch_end(batch)
        self._stop_at_limit()

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        self.state.epoch += 1
        self.state.batches_of_epoch = 0
        self._stop_at_limit()

    def _stop_at_limit(self) -> None:
        if reached_limit(self.state, self.config):
            self.model.stop_training = True
