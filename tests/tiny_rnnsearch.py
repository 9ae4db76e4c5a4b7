"""Tiny RNNsearch models with random weights, and batches for them, for several test folders.

Sizes m = 3, n = 4, n' = 5, l = 3, V = 7 (8 on the source side) are all different where
they may be, so that a matrix in the wrong place cannot fit.
"""

import dataclasses

import numpy as np
import tensorflow as tf
from rnnsearch_tf.config import ModelConfig
from rnnsearch_tf.models import RNNSearch

SIZES = dict(embedding_size=3, hidden_size=4, alignment_size=5, maxout_size=3, output_rank=None)
SOURCE_SIZE = 8
TARGET_SIZE = 7
END = 1

PAIRS = [  # source and target ids, each ending with END; longest source and longest target apart
    ([3, 7, 2, 4, 1], [5, 3, 1]),
    ([6, 1], [4, 4, 2, 6, 3, 1]),
    ([5, 3, 6, 1], [1]),
    ([7, 4, 1], [6, 2, 5, 1]),
]


def tiny_config(**options):
    return dataclasses.replace(ModelConfig(), **{**SIZES, **options})


def tiny_model(dtype="float64", seed=0, scale=0.6, **options):
    """A model whose every weight, biases and v_a included, is drawn from N(0, scale²)."""
    model = RNNSearch(tiny_config(**options), SOURCE_SIZE, TARGET_SIZE, dtype=dtype)
    return randomize(model, seed, scale)


def randomize(model, seed=0, scale=0.6):
    generator = np.random.default_rng(seed)
    for variable in model.trainable_variables:
        variable.assign(generator.normal(scale=scale, size=variable.shape))
    return model


def padded(sequences, extra=0):
    """Rows of ids, padded with 0 on the right to the longest and `extra` columns more: int32 [B,
    length].
    """
    length = max(map(len, sequences)) + extra
    return tf.constant([list(row) + [0] * (length - len(row)) for row in sequences], tf.int32)


def batch(pairs=PAIRS, extra_source=0, extra_target=0):
    return {
        "source_ids": padded([x for x, _ in pairs], extra_source),
        "target_ids": padded([y for _, y in pairs], extra_target),
    }


def dataset(batches):
    """A tf.data.Dataset of padded batches of any shape, from lists of pairs."""
    signature = {key: tf.TensorSpec([None, None], tf.int32) for key in ("source_ids", "target_ids")}
    return tf.data.Dataset.from_generator(lambda: map(batch, batches), output_signature=signature)
