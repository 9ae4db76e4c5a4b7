"""Same sentence, same numbers: whatever the padding, the neighbours, their order or their number.

RNNsearch, in float32 too; test_system_invariances.py has every system.

float64 to 1e-12. In float32 products of other shapes sum in another order: 24 bits and
sums of about 20 terms below 5 leave 1e-5 of a logit.
"""

import numpy as np
import pytest
import tensorflow as tf
from tiny_rnnsearch import PAIRS, batch, padded, tiny_model

ORDERS = ("look_generate_update", "paper", "look_update_generate")
TOLERANCE = {"float64": 1e-12, "float32": 1e-5}
each_order = pytest.mark.parametrize("order", ORDERS)
each_dtype = pytest.mark.parametrize("dtype", TOLERANCE)


def close(dtype):
    return dict(rtol=0, atol=TOLERANCE[dtype])


def rows_of_logits(model, inputs, pairs=PAIRS):
    """Logits of each sentence's real positions."""
    logits = model(inputs).numpy()
    return [logits[row, : len(target)] for row, (_, target) in enumerate(pairs)]


@each_order
@each_dtype
@pytest.mark.parametrize("extra", ((3, 0), (0, 2), (4, 5)))
def test_more_padding_changes_nothing(order, dtype, extra):
    model = tiny_model(dtype, decoder_order=order, biases="all", output_rank=2)
    longer = rows_of_logits(model, batch(extra_source=extra[0], extra_target=extra[1]))
    for one, other in zip(rows_of_logits(model, batch()), longer):
        np.testing.assert_allclose(one, other, **close(dtype))


@each_order
@each_dtype
def test_alone_or_in_a_batch(order, dtype):
    model = tiny_model(dtype, decoder_order=order, biases="all", output_rank=2)
    together = rows_of_logits(model, batch())
    for row, pair in enumerate(PAIRS):
        alone = rows_of_logits(model, batch([pair]), [pair])[0]
        np.testing.assert_allclose(together[row], alone, **close(dtype))


@each_dtype
def test_another_order_of_the_batch(dtype):
    model = tiny_model(dtype)
    order = [2, 0, 3, 1]
    shuffled = [PAIRS[k] for k in order]
    before = rows_of_logits(model, batch())
    after = rows_of_logits(model, batch(shuffled), shuffled)
    for place, k in enumerate(order):
        np.testing.assert_allclose(after[place], before[k], **close(dtype))


@each_dtype
def test_losses_alone_or_in_a_batch(dtype):
    model = tiny_model(dtype, output_rank=2)
    together, _ = model.token_losses(batch(extra_source=2, extra_target=3), label_smoothing=0.1)
    alone = [model.token_losses(batch([pair]), label_smoothing=0.1)[0] for pair in PAIRS]
    np.testing.assert_allclose(together, tf.concat(alone, axis=0), **close(dtype))


def test_neighbours_do_not_matter():
    """Other sentences in the rest of the batch leave a sentence's numbers exactly as they were."""
    model = tiny_model(biases="all")
    others = [PAIRS[0], ([2, 2, 1], [2, 3, 4, 5, 6, 1]), ([7, 7, 7, 7, 1], [1]), ([1], [6, 1])]
    np.testing.assert_array_equal(
        rows_of_logits(model, batch())[0], rows_of_logits(model, batch(others), others)[0]
    )


def search_steps(model, sources, words, extra=0):
    """Logits [I, B, K, V] and alignments of a search that always takes `words` [I, K]."""
    state, memory = model.start(padded(sources, extra))
    count = words.shape[1]
    state = tf.nest.map_structure(lambda leaf: tf.repeat(leaf[:, None], count, axis=1), state)
    scores = []
    alignments = []
    for row in words:
        previous = tf.tile(tf.constant(row, tf.int32)[None], [len(sources), 1])
        logits, alignment, state = model.step(previous, state, memory)
        scores.append(logits)
        alignments.append(alignment)
    return np.array(scores), np.array(alignments)


@each_order
@each_dtype
def test_search_alone_or_in_a_batch(order, dtype):
    """Source padding, neighbours and the other hypotheses change nothing; padding is never looked
    at.
    """
    model = tiny_model(dtype, decoder_order=order, biases="all")
    sources = [source for source, _ in PAIRS]
    words = np.array([[0, 0], [3, 5], [6, 2]])
    scores, alignments = search_steps(model, sources, words, extra=2)
    for row, source in enumerate(sources):
        assert not alignments[:, row, :, len(source) :].any()
        np.testing.assert_allclose(alignments[:, row].sum(axis=-1), 1.0, atol=1e-6)
        for k in range(2):
            alone, _ = search_steps(model, [source], words[:, k : k + 1])
            # `step` gives float32
            np.testing.assert_allclose(scores[:, row, k], alone[:, 0, 0], rtol=0, atol=1e-5)
