"""Weights in fewer bits: near the originals, small, and what the check and the BLEU are computed
with.
"""

import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.export.weights import StoredWeights
from rnnsearch_tf.search.graphs import hoist_weights

BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "int8": 1}
ROWS = 80
COLUMNS = 60


@pytest.fixture(scope="module")
def variables():
    generator = np.random.default_rng(3)
    matrix = generator.normal(size=(ROWS, COLUMNS)).astype(np.float32) * np.geomspace(
        1e-3, 10, COLUMNS, dtype=np.float32
    )
    matrix[:, 5] = 0.0
    return [
        keras.Variable(matrix, name="matrix"),
        keras.Variable(generator.normal(size=COLUMNS), dtype="float32", name="bias"),
    ]


@pytest.mark.parametrize("storage", BYTES)
def test_near_the_originals_and_small(variables, storage):
    stored = StoredWeights(variables, storage)
    matrix, bias = (variable.numpy() for variable in variables)
    widened = stored.tensors()
    found = widened[0].numpy()
    largest = np.abs(matrix).max(axis=0)
    bounds = {
        "float32": 0,
        "float16": np.abs(matrix) * 2**-11 + 2**-25,
        "bfloat16": np.abs(matrix) * 2**-8,
        "int8": largest / 254 * 1.001,
    }
    assert found.dtype == np.float32 and np.all(np.abs(found - matrix) <= bounds[storage])
    np.testing.assert_array_equal(widened[1].numpy(), bias)  # small ones are kept
    expected = (
        BYTES[storage] * matrix.size + 4 * bias.size + (4 * COLUMNS if storage == "int8" else 0)
    )
    assert stored.size == expected
    assert sum(variable.numpy().nbytes for variable in stored.variables) == expected


def test_substituted_weights_end_with_their_block(variables):
    matrix = variables[0]
    with hoist_weights([matrix], [tf.zeros([ROWS, COLUMNS])]):
        assert not np.any(tf.convert_to_tensor(matrix))
    assert np.any(tf.convert_to_tensor(matrix))
