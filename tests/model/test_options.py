"""Precision, tied embeddings, and what they leave alone."""

import numpy as np
import pytest
import tensorflow as tf
from rnnsearch_tf.config import ModelConfig
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.models import RNNSearch
from rnnsearch_tf.models.luong import LuongModel
from tiny_rnnsearch import (
    SOURCE_SIZE,
    TARGET_SIZE,
    batch,
    randomize,
    tiny_config,
    tiny_model,
)


def gradient(model):
    with tf.GradientTape() as tape:
        value = tf.reduce_sum(model.token_losses(batch())[0])
    return [tf.convert_to_tensor(g) for g in tape.gradient(value, model.trainable_variables)]


def flat(tensors):
    return np.concatenate([tf.cast(tensor, tf.float64).numpy().ravel() for tensor in tensors])


# Precision


def test_float64_throughout():
    model = tiny_model("float64")
    assert {weight.dtype for weight in model.weights} == {"float64"}
    assert model(batch()).dtype == tf.float64
    assert {g.dtype for g in gradient(model)} == {tf.float64}
    state, memory = model.start(batch()["source_ids"])
    assert {leaf.dtype for leaf in tf.nest.flatten((state, memory))} == {tf.float64, tf.bool}


@pytest.mark.parametrize("dtype", ["float16", "mixed_float16"])
def test_other_precisions_are_refused(dtype):
    with pytest.raises(UsageError, match="RNNSearch: dtype: expected one of .*mixed_bfloat16"):
        tiny_model(dtype)


def test_float32_is_close_to_float64():
    """24 bits, sums of about 20 terms: 1e-5 of a logit."""
    single = tiny_model("float32")
    double = tiny_model("float64")
    assert {weight.dtype for weight in single.weights} == {"float32"}
    assert single(batch()).dtype == tf.float32
    np.testing.assert_allclose(single(batch()), double(batch()), rtol=0, atol=1e-5)
    np.testing.assert_allclose(flat(gradient(single)), flat(gradient(double)), rtol=0, atol=1e-4)


@pytest.mark.parametrize("order", ("look_generate_update", "paper", "look_update_generate"))
def test_mixed_bfloat16_is_close_to_float32(order):
    """bfloat16 keeps 8 bits: each operand of a product is off by at most 2⁻⁹, a product of n = 4 to
    8 terms of size 1 by about 2⁻⁹·√8·√2 = 0.008; about ten products follow one another in a
    sentence. So 0.08 of logits of size 3; the gradient keeps its direction.
    """
    mixed, single = (
        tiny_model(d, decoder_order=order, output_rank=2) for d in ("mixed_bfloat16", "float32")
    )
    assert {weight.dtype for weight in mixed.weights} == {"float32"}
    ours = mixed(batch())
    theirs = single(batch())
    assert ours.dtype == tf.float32
    difference = np.abs(ours - theirs)[batch()["target_ids"].numpy() > 0].max()
    assert 1e-4 < difference < 0.08  # the lower bound: products really are in bfloat16
    one = flat(gradient(mixed))
    other = flat(gradient(single))
    assert one @ other / np.linalg.norm(one) / np.linalg.norm(other) > 0.999


def test_a_configuration_in_code_is_checked_as_one_of_a_file():
    options = dict(system="luong", tie_target_embeddings=True, hidden_size=4, embedding_size=3)
    with pytest.raises(UsageError, match="tie_target_embeddings"):
        LuongModel(ModelConfig(**options), SOURCE_SIZE, TARGET_SIZE)


# Tied embeddings


@pytest.mark.parametrize("rank", (None, 3))
def test_tied_embeddings_are_one_variable(rank):
    tied, free = (
        RNNSearch(tiny_config(tie_target_embeddings=t, output_rank=rank), SOURCE_SIZE, TARGET_SIZE)
        for t in (True, False)
    )
    assert free.count_params() - tied.count_params() == TARGET_SIZE * 3
    assert len(tied.trainable_variables) == len(free.trainable_variables) - 1
    randomize(tied)
    pairs = batch([([3, 1], [5, 3, 1])])  # word 2 is asked for, but is never a previous word here
    embeddings = tied.target_embedding.E
    before = tied(pairs).numpy()
    embeddings.assign(embeddings + np.eye(TARGET_SIZE)[:, 2:3])
    changed = np.abs(tied(pairs).numpy() - before).max(axis=(0, 1))
    assert changed[2] > 1e-3 and not np.delete(changed, 2).any()
