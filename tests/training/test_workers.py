"""What the workers of a training agree on, without other processes."""

import signal
import types

import keras
import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.distributed import workers
from rnnsearch_tf.distributed.addresses import worker_variable
from rnnsearch_tf.errors import PeerLost, UserError
from rnnsearch_tf.layers.dropout import Dropout, vary_dropout
from rnnsearch_tf.training.worker_sync import Agreement
from rnnsearch_tf.training.interruption import Interruption
from rnnsearch_tf.training.checkpoint import TrainingState
from rnnsearch_tf.distributed.workers import losing_peers


class Several:
    """Workers that say in turn what they say in truth at the same time; each hears the sum."""

    def __init__(self, number, said):
        self.index = number
        self.count = 3
        self.chief = number == 0
        self.said = said

    def all_reduce(self, *numbers):
        self.said.append(numbers)
        return list(map(sum, zip(*self.said)))


def agreements(seconds, asked, stopping):
    """The Agreement of every worker, after the last one has heard all."""
    said = []
    made = []
    for number in range(3):
        workers = Several(number, said)
        interruption = Interruption(workers)
        interruption.received = asked[number]
        one = Agreement(
            workers,
            TrainingState(seconds=seconds[number], evaluations_since_best=4 - number),
            interruption,
        )
        one.set_model(types.SimpleNamespace(stop_training=stopping[number]))
        made.append(one)
        one.synchronize()
    return made


def test_the_chiefs_clock_and_decisions_count():
    last = agreements((100.0, 170.0, 30.0), (None, None, None), (True, False, False))[-1]
    assert (last.state.seconds, last.state.evaluations_since_best, last.model.stop_training) == (
        100.0,
        4,
        True,
    )
    last = agreements((100.0, 170.0, 30.0), (None, None, None), (False, True, True))[-1]
    assert last.model.stop_training is False
    last.interruption.raise_if_stopped()  # nobody was asked to


@pytest.mark.parametrize(
    "number, error", [(signal.SIGTERM, "Terminated"), (signal.SIGINT, "KeyboardInterrupt")]
)
def test_a_signal_to_one_stops_all_once_they_know(number, error):
    first, second, last = agreements((1, 1, 1), (None, number, None), (False,) * 3)
    first.interruption.raise_if_stopped()  # has heard its own words only
    for one in (second, last):
        with pytest.raises(BaseException) as raised:
            one.interruption.raise_if_stopped()
        assert raised.type.__name__ == error


def test_a_signal_is_kept_until_all_know():
    workers = Several(1, [])
    interruption = Interruption(workers)
    interruption.on_train_batch_end(0)
    interruption._handle(signal.SIGTERM, None)
    interruption.on_train_batch_begin(1)
    assert interruption.received == signal.SIGTERM and interruption.agreed is None


def test_every_worker_drops_other_values():
    """The chief's state decides all of them, also when training is resumed."""
    layers = [Dropout(0.5, seed=3), Dropout(0.5, seed=4)]
    outputs = []
    for number in range(3):
        for layer in layers:
            layer.set_random_state(np.array([3, 17], np.uint32))
        vary_dropout(layers, number)
        outputs.append(
            keras.ops.convert_to_numpy(layers[0](np.ones((4, 50), np.float32), training=True))
        )
        assert layers[1].random_state()[1] == 17
    assert not any(
        np.array_equal(outputs[one], outputs[other]) for one, other in ((0, 1), (0, 2), (1, 2))
    )
    layers[0].set_random_state(np.array([3, 17], np.uint32))
    assert np.array_equal(outputs[0], layers[0](np.ones((4, 50), np.float32), training=True))


def test_only_a_missing_worker_is_a_lost_one():
    with pytest.raises(PeerLost), losing_peers():
        raise tf.errors.UnavailableError(
            None, None, "Collective ops is aborted by: Connection reset by peer"
        )
    with pytest.raises(tf.errors.UnavailableError), losing_peers():
        raise tf.errors.UnavailableError(None, None, "a file system is gone")


@pytest.mark.parametrize(
    "error",
    (
        tf.errors.UnknownError(None, None, "Could not start gRPC server"),  # the port is in use
        tf.errors.InvalidArgumentError(None, None, "Could not parse port for local server"),
        RuntimeError("no such host"),
    ),
)
def test_a_worker_that_cannot_join_says_why(monkeypatch, error):
    def refuse():
        raise error

    monkeypatch.setenv("TF_CONFIG", worker_variable(1, ["a:1", "b:2"]))
    monkeypatch.setattr(workers, "_strategies", {})
    monkeypatch.setattr(workers, "_keep_freed_memory", lambda: None)  # of this process
    monkeypatch.setattr(tf.distribute, "MultiWorkerMirroredStrategy", refuse)
    with pytest.raises(UserError) as found:
        workers.join()
    reason = getattr(error, "message", str(error))
    assert f"expected to become worker 1 of a:1, b:2, got: {reason}; give" in str(found.value)
