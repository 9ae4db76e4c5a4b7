"""Training from a prepared corpus: it goes on with the batch that comes next, in any epoch."""

import types

import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.config import load_config
from rnnsearch_tf.data.numbered import NumberedBatches
from rnnsearch_tf.data.prepared import PreparedPairs
from rnnsearch_tf.data.preparing import prepare
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.models import RNNSearch
from rnnsearch_tf.training.run import _fit_prepared, train
from rnnsearch_tf.training.state import TrainingState, load_state

TINY = [
    "model.embedding_size=6", "model.hidden_size=7", "model.alignment_size=5", "model.maxout_size=4", "model.output_rank=null",
    "data.batch_size=10", "data.batching=bucketed", "training.optimizer=adam", "training.evaluate_sentences=3",
    "training.evaluate_after=1000", "search.maximum_length_ratio=1.0",
]  # fmt: skip


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus") / "prepared"
    prepare(load_config(overrides=[*TINY, "data.corpus=phrasebook", "data.phrasebook_size=57"]), folder)
    return folder


def test_a_resumed_training_meets_the_batches_of_one_never_stopped(tmp_path, prepared, monkeypatch):
    """Stopped after 8 batches, 6 an epoch; to the bit."""
    seen, step = [], RNNSearch.train_step

    def watched(model, data):
        tf.py_function(lambda *ids: seen.append([side.numpy() for side in ids]), [data["source_ids"], data["target_ids"]], [])
        return step(model, data)

    monkeypatch.setattr(RNNSearch, "train_step", watched)
    config = lambda updates: load_config(overrides=[*TINY, f"data.prepared={prepared}", f"training.maximum_updates={updates}"])  # noqa: E731
    train(config(8), tmp_path / "run")
    train(config(15), tmp_path / "run", resume=True)
    state = load_state(tmp_path / "run")[1]
    assert (state.batches, state.epoch, state.batches_of_epoch) == (15, 2, 3)
    settings = config(15)
    expected = NumberedBatches(PreparedPairs(prepared), settings.data, settings.training.seed).dataset().take(15)
    for batch, (source, target) in zip(expected.as_numpy_iterator(), seen, strict=True):
        np.testing.assert_array_equal(batch["source_ids"], source)
        np.testing.assert_array_equal(batch["target_ids"], target)
    assert "the prepared corpus" in (tmp_path / "run" / "model_card.md").read_text()
    other = prepare(load_config(overrides=[*TINY, "data.corpus=phrasebook", "data.phrasebook_size=30"]), tmp_path / "other")
    with pytest.raises(UserError, match="expected ids of the source vocabulary that this training has, got those of another"):
        train(load_config(overrides=[*TINY, f"data.prepared={other.folder}"]), tmp_path / "run", resume=True)


@pytest.mark.parametrize("epoch, batches_of_epoch, expected", [
    (0, 0, [(0, 0, 4, 6)]),
    (2, 0, [(12, 2, 4, 6)]),
    (1, 2, [(8, 1, 2, 4), (12, 2, 4, 6)]),
    (1, 6, [(12, 2, 4, 6)]),  # stopped after the last batch of an epoch
    (3, 6, []),
    (3, 5, [(23, 3, 4, 1)]),
])
def test_which_batches_are_left(epoch, batches_of_epoch, expected):
    """(number of the first batch, its epoch, the epoch to stop before, batches of an epoch) of every call of fit, of 4 epochs of 6."""
    state, calls = TrainingState(epoch=epoch, batches_of_epoch=batches_of_epoch), []

    def fit(first, initial_epoch, epochs, steps_per_epoch):
        calls.append((first, initial_epoch, epochs, steps_per_epoch))
        state.epoch, state.batches_of_epoch = epochs, 0

    model = types.SimpleNamespace(fit=fit, stop_training=False)
    _fit_prepared(model, types.SimpleNamespace(an_epoch=6, dataset=lambda first: first), state, 4, {})
    assert calls == expected
