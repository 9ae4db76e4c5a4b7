"""training.jit_compile: batches of few shapes, whose updates XLA compiles, change no number."""

import dataclasses
import types

import numpy as np
import pytest
import tensorflow as tf
from tiny_systems import ONE_OF_EACH, SOURCE_SIZE, TARGET_SIZE, system_config

import rnnsearch_tf as rt
from rnnsearch_tf.config import Config
from rnnsearch_tf.data.batching import LENGTH_STEP, with_few_shapes
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.models import build_model
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.training.fit import _check_workers
from rnnsearch_tf.training.optimizers import compile_model

ROWS = 5
NEAR = {"loss": 1e-9, "perplexity": 1e-9, "gradient_norm": np.finfo(np.float32).eps}
"""Relative differences that are equal: the optimizer keeps the norm in float32."""


def batch(rows, source, target, seed=0):
    """Random ids with an end symbol and padding; the first row has the longest sentences."""
    generator = np.random.default_rng(seed)
    found = {}
    for name, length, size in (("source", source, SOURCE_SIZE), ("target", target, TARGET_SIZE)):
        ids = generator.integers(3, size, (rows, length)).astype(np.int32)
        for row, end in zip(ids, [length, *generator.integers(1, length + 1, rows - 1)]):
            row[end - 1] = 1
            row[end:] = 0
        found[f"{name}_ids"] = ids
    return found


BATCHES = [batch(5, 4, 6), batch(3, 7, 2, 1), batch(5, 12, 9, 2), batch(1, 3, 11, 3)]


def dataset(batches=BATCHES):
    signature = {name: tf.TensorSpec([None, None], tf.int32) for name in BATCHES[0]}
    return tf.data.Dataset.from_generator(lambda: iter(batches), output_signature=signature)


def test_sides_have_one_length_and_rows_are_added():
    ids = {"source_ids": np.array([[5, 6, 1], [7, 1, 0]]), "target_ids": np.array([[8, 1], [1, 0]])}
    ids |= {"links": np.ones([2, 2, 3]), "sample_weight": np.array([0.5, 2.0])}
    (found,) = with_few_shapes(tf.data.Dataset.from_tensors(ids), 4)
    zeros = [0] * (LENGTH_STEP - 3)
    first = [5, 6, 1, *zeros]
    assert found["source_ids"].numpy().tolist() == [first, [7, 1, 0, *zeros], first, first]
    target = [[8, 1, 0, *zeros], [1, 0, 0, *zeros], *[[0] * LENGTH_STEP] * 2]
    assert found["target_ids"].numpy().tolist() == target
    assert found["links"].shape == (4, LENGTH_STEP, LENGTH_STEP)
    assert float(tf.reduce_sum(found["links"])) == 12
    assert float(tf.reduce_sum(found["links"][:2, :2, :3])) == 12
    assert found["sample_weight"].numpy().tolist() == [0.5, 2.0, 0.0, 0.0]


def test_there_are_few_shapes():
    batches = [batch(1 + n % ROWS, 1 + n, 1 + 29 - n, n) for n in range(30)]
    shapes = {
        tuple(found[name].shape)
        for found in with_few_shapes(dataset(batches), ROWS)
        for name in ("source_ids", "target_ids")
    }
    assert shapes == {(ROWS, LENGTH_STEP * n) for n in (2, 3)}
    assert [len(x["source_ids"]) for x in with_few_shapes(dataset(), ROWS)] == [ROWS] * len(BATCHES)


def compiled_model(name, jit_compile, reduction="token_mean"):
    config = Config(model=system_config(name))
    training = dataclasses.replace(
        config.training, jit_compile=jit_compile, loss_reduction=reduction, precision="float64"
    )
    config = dataclasses.replace(config, training=training)
    model = build_model(config, SOURCE_SIZE, TARGET_SIZE)
    compile_model(model, config)
    return model


def history(name, jit_compile, **options):
    model = compiled_model(name, jit_compile, **options)
    found = []
    batches = with_few_shapes(dataset(), ROWS) if jit_compile else dataset()
    for _ in range(2):
        for one in batches:
            found.append(model.train_on_batch(one, return_dict=True))
            model.reset_metrics()
    return model, found


def assert_same_numbers(name, **options):
    plain, expected = history(name, False, **options)
    compiled, found = history(name, True, **options)
    assert compiled.compiled_update is not None and plain.compiled_update is None
    for one, other in zip(found, expected):
        for key, near in NEAR.items():
            np.testing.assert_allclose(one[key], other[key], near, err_msg=key)
    for one, other in zip(compiled.trainable_variables, plain.trainable_variables):
        np.testing.assert_allclose(one, other, 1e-7, 1e-9, err_msg=other.path)


@pytest.mark.parametrize(
    "reduction", ["token_mean", pytest.param("batch_mean", marks=pytest.mark.slow)]
)
def test_compiled_updates_are_the_same(reduction):
    assert_same_numbers("rnnsearch", reduction=reduction)


@pytest.mark.slow
@pytest.mark.parametrize("name", ONE_OF_EACH[1:])
def test_those_of_every_other_system(name):
    assert_same_numbers(name)


def test_the_last_compile_counts(monkeypatch):
    model = compiled_model("rnnsearch", True)
    assert model.compiled_update is not None
    model.compile(model.optimizer, loss=model.loss)
    assert model.compiled_update is None
    replicas = types.SimpleNamespace(num_replicas_in_sync=2)
    monkeypatch.setattr(type(model), "distribute_strategy", replicas)
    with pytest.raises(UsageError, match="expected jit_compile=True with one replica, got 2"):
        model.compile(model.optimizer, loss=model.loss, jit_compile=True)


def test_several_workers_are_refused():
    training = dataclasses.replace(Config().training, jit_compile=True)
    workers = type("Workers", (), {"count": 2})()
    for resume in (False, True):
        with pytest.raises(UsageError, match="training.jit_compile: expected one worker, got 2"):
            _check_workers(training, workers, resume)


@pytest.mark.slow
def test_a_training_has_few_shapes(tmp_path, monkeypatch):
    """`rt.train` pads its batches, and XLA compiles their updates."""
    seen = []
    train_step = TranslationModel.train_step

    def noted(self, data):
        assert self.compiled_update is not None
        tf.py_function(lambda ids: seen.append(tuple(ids.shape)), [data["source_ids"]], [])
        return train_step(self, data)

    monkeypatch.setattr(TranslationModel, "train_step", noted)
    settings = ["training.jit_compile=true", "training.maximum_updates=12", "data.batch_size=7"]
    settings += ["data.corpus=phrasebook", "data.phrasebook_size=40"]
    settings += [f"model.{part}_size=4" for part in ("embedding", "hidden", "alignment", "maxout")]
    rt.train(rt.load_config(overrides=[*settings, "model.output_rank=null"]), tmp_path / "run")
    assert len(seen) == 12
    assert {rows for rows, _ in seen} == {7}
    assert all(length % LENGTH_STEP == 0 for _, length in seen)
