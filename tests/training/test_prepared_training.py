"""Training from a prepared corpus: it resumes with the next batch, in any epoch."""

import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.config import load_config, save_config
from rnnsearch_tf.data.batching import with_few_shapes
from rnnsearch_tf.data.phrasebook import phrasebook
from rnnsearch_tf.data.prepared.batches import NumberedBatches
from rnnsearch_tf.data.prepared.store import PreparedPairs
from rnnsearch_tf.data.prepared.writing import prepare
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.models import build_model
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.training.bad_batch import name_batch
from rnnsearch_tf.training.optimizers import compile_model
from rnnsearch_tf.training.fit import train
from rnnsearch_tf.training.checkpoint import TrainingState, load_state, save_state

TINY = [
    "model.system=cslm",
    "model.embedding_size=6",
    "model.hidden_size=7",
    "model.second_hidden_size=6",  # traced in no time
    "data.batch_size=10",
    "data.batching=bucketed",
    "training.optimizer=adam",
    "training.evaluate_every=1000",
    "search.maximum_length_ratio=1.0",
]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus") / "prepared"
    prepare(
        load_config(overrides=[*TINY, "data.corpus=phrasebook", "data.phrasebook_size=57"]), folder
    )
    return folder


def test_a_resumed_training_meets_the_batches_of_one_never_stopped(tmp_path, prepared, monkeypatch):
    """Stopped after 8 batches, 6 an epoch; to the bit."""
    seen = []
    step = TranslationModel.train_step

    def watched(model, data):
        tf.py_function(
            lambda *ids: seen.append([side.numpy() for side in ids]),
            [data["source_ids"], data["target_ids"]],
            [],
        )
        return step(model, data)

    monkeypatch.setattr(TranslationModel, "train_step", watched)

    def config(updates):
        return load_config(
            overrides=[*TINY, f"data.prepared={prepared}", f"training.maximum_updates={updates}"]
        )

    train(config(8), tmp_path / "run")
    train(config(15), tmp_path / "run", resume=True)
    state = load_state(tmp_path / "run")[1]
    assert (state.batches, state.epoch, state.batches_of_epoch) == (15, 2, 3)
    settings = config(15)
    expected = (
        NumberedBatches(PreparedPairs(prepared), settings.data, settings.training.seed)
        .dataset()
        .take(15)
    )
    for batch, (source, target) in zip(expected.as_numpy_iterator(), seen, strict=True):
        np.testing.assert_array_equal(batch["source_ids"], source)
        np.testing.assert_array_equal(batch["target_ids"], target)
    assert "the prepared corpus" in (tmp_path / "run" / "model_card.md").read_text()
    other = prepare(
        load_config(overrides=[*TINY, "data.corpus=phrasebook", "data.phrasebook_size=30"]),
        tmp_path / "other",
    )
    with pytest.raises(
        UserError,
        match="expected ids of this training's source vocabulary, got ids of another",
    ):
        train(
            load_config(overrides=[*TINY, f"data.prepared={other.folder}"]),
            tmp_path / "run",
            resume=True,
        )


@pytest.mark.slow
@pytest.mark.parametrize("epoch, learned", [(0, 0), (2, 0), (1, 2), (3, 5), (1, 1)])
def test_which_batches_are_left(tmp_path, prepared, monkeypatch, epoch, learned):
    """Of 6 an epoch; asked twice, since a ``fit`` that learned nothing leaves all of them. Keras's
    ``fit`` is asked what it was given.
    """
    config = load_config(overrides=[*TINY, f"data.prepared={prepared}"])
    pairs = PreparedPairs(prepared)
    given = []
    expected = list(
        NumberedBatches(pairs, config.data, config.training.seed)
        .dataset(6 * epoch + learned)
        .take(6 - learned)
        .as_numpy_iterator()
    )

    def fit(model, dataset, **_):
        given.append(list(dataset.as_numpy_iterator()))
        model.stop_training = len(given) == 2

    monkeypatch.setattr(TranslationModel, "fit", fit)
    save_config(config, tmp_path / "config.yaml")
    texts = pairs.texts(config)
    for side, text in zip(("source", "target"), texts):
        text.save(tmp_path, side)
    model = build_model(config, *(text.vocabulary.size for text in texts))
    compile_model(model, config)
    save_state(
        tmp_path,
        model,
        TrainingState(batches=6 * epoch + learned, epoch=epoch, batches_of_epoch=learned),
        config,
    )
    train(config, tmp_path, resume=True)
    for found in given:
        assert len(found) == len(expected)
        for batch, other in zip(expected, found):
            np.testing.assert_array_equal(other["source_ids"], batch["source_ids"])
            np.testing.assert_array_equal(other["target_ids"], batch["target_ids"])
    assert len(given) == 2


def test_a_refused_batch_is_written_as_text(prepared, tmp_path):
    config = load_config(overrides=[*TINY, f"data.prepared={prepared}"])
    pairs = PreparedPairs(prepared)
    batch = next(iter(NumberedBatches(pairs, config.data, 1).dataset()))
    larger = tf.data.Dataset.from_tensors(batch)
    [filled] = with_few_shapes(larger, len(batch["source_ids"]) + 3)
    where = name_batch(filled, pairs.texts(config), pairs, tmp_path / "refused.txt")
    size = len(batch["source_ids"])
    assert where == f"{size} pairs of {prepared}"
    text = set(zip(*phrasebook(57, config.data.phrasebook_seed, "train")))
    rows = [tuple(line.split("\t")) for line in (tmp_path / "refused.txt").read_text().splitlines()]
    assert len(rows) == size and set(rows) <= text


@pytest.mark.slow
@pytest.mark.parametrize("same_text, learned", [(True, (8, 2, 0)), (False, (8, 2, 1))])
def test_an_epoch_goes_on_with_larger_batches(tmp_path, prepared, same_text, learned):
    """Stopped after 5 of 6 batches of 10 pairs, it resumes after the first of 2 batches of 30. If
    the text was that much larger then, so that 5 were of 30 pairs, the epoch is over.
    """

    def config(size, updates):
        return load_config(
            overrides=[
                *TINY,
                f"data.prepared={prepared}",
                f"data.batch_size={size}",
                f"training.maximum_updates={updates}",
            ]
        )

    train(config(10, 5), tmp_path)
    if not same_text:
        save_config(config(30, 5), tmp_path / "config.yaml")
        model, state = load_state(tmp_path)
        state.shift = 0
        save_state(tmp_path, model, state, config(30, 5))
    train(config(30, 8), tmp_path, resume=True)
    state = load_state(tmp_path)[1]
    assert (state.batches, state.epoch, state.batches_of_epoch) == learned
