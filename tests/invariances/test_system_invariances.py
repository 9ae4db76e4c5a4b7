"""Same sentence, same numbers, in every system: whatever the padding, the neighbours, their order
or their number.

float64 to 1e-12. In float32 products of other shapes sum in another order: 24 bits and
sums of about 20 terms below 5 leave 1e-5 of a logit.
"""

import numpy as np
import pytest
import tensorflow as tf
from tiny_rnnsearch import PAIRS, SOURCE_SIZE, TARGET_SIZE, batch, padded
from tiny_systems import (
    ONE_OF_EACH,
    READ_THE_SOURCE,
    SYSTEMS,
    others_slow,
    shared_system,
    with_hypotheses,
)

TOLERANCE = {"float64": 1e-12, "float32": 1e-5}
OFTEN = [*ONE_OF_EACH, "rnnsearch-paper", "rnnsearch-update"]

each_system = pytest.mark.parametrize("name", others_slow(SYSTEMS, OFTEN))


def rows_of_logits(logits_of, inputs, pairs=PAIRS):
    logits = logits_of(inputs).numpy()
    return [logits[row, : len(target)] for row, (_, target) in enumerate(pairs)]


@each_system
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_padding_neighbours_and_their_order_change_nothing(name, dtype):
    near = dict(rtol=0, atol=TOLERANCE[dtype])
    _, call = shared_system(name, dtype)
    rows = rows_of_logits(call, batch())
    order = [2, 0, 3, 1]
    shuffled = [PAIRS[k] for k in order]
    longer = rows_of_logits(call, batch(extra_source=3, extra_target=2))
    elsewhere = rows_of_logits(call, batch(shuffled), shuffled)
    for k, (row, pair) in enumerate(zip(rows, PAIRS)):
        np.testing.assert_allclose(longer[k], row, **near)
        np.testing.assert_allclose(elsewhere[order.index(k)], row, **near)
        np.testing.assert_allclose(rows_of_logits(call, batch([pair]), [pair])[0], row, **near)


@each_system
def test_float32_losses_alone_or_in_a_batch(name):
    model, _ = shared_system(name, "float32")
    together, _ = model.token_losses(batch(extra_source=2, extra_target=3), label_smoothing=0.1)
    alone = [model.token_losses(batch([pair]), label_smoothing=0.1)[0] for pair in PAIRS]
    np.testing.assert_allclose(together, tf.concat(alone, axis=0), rtol=0, atol=1e-5)


def test_neighbours_do_not_matter():
    """Other sentences in the rest of the batch leave a sentence's numbers exactly as they were."""
    _, call = shared_system("rnnsearch")
    others = [PAIRS[0], ([2, 2, 1], [2, 3, 4, 5, 6, 1]), ([7, 7, 7, 7, 1], [1]), ([1], [6, 1])]
    np.testing.assert_array_equal(
        rows_of_logits(call, batch())[0], rows_of_logits(call, batch(others), others)[0]
    )


@each_system
def test_the_future_never_reaches_the_past(name):
    """Another word y_k leaves the logits of positions 1..k exactly the same, and moves k + 1."""
    _, call = shared_system(name)
    source, target = PAIRS[1]
    logits = call(batch([(source, target)])).numpy()[0]
    for k in range(len(target)):
        changed = list(target)
        changed[k] = target[k] % (TARGET_SIZE - 1) + 1
        other = call(batch([(source, changed)])).numpy()[0]
        np.testing.assert_array_equal(logits[: k + 1], other[: k + 1])
        if k + 1 < len(target):
            assert np.abs(logits[k + 1] - other[k + 1]).max() > 1e-6


@pytest.mark.parametrize("name", others_slow(READ_THE_SOURCE, OFTEN))
def test_every_source_word_reaches_every_target_position(name):
    model, call = shared_system(name)
    source, target = PAIRS[0]
    logits = call(batch([(source, target)])).numpy()[0]
    for j in range(len(source)):
        changed = list(source)
        changed[j] = source[j] % (SOURCE_SIZE - 1) + 1
        other = call(batch([(changed, target)])).numpy()[0]
        assert (np.abs(logits - other).max(axis=1) > (1e-6 if model.has_attention else 1e-9)).all()


@each_system
@pytest.mark.parametrize("dtype", ("float64", "float32", "mixed_bfloat16"))
def test_a_row_of_padding_gives_no_nan(name, dtype):
    model, call = shared_system(name, dtype)
    with_empty = {key: tf.pad(ids, [[0, 1], [0, 0]]) for key, ids in batch().items()}
    assert np.isfinite(call(with_empty).numpy()).all()
    for values in model.token_losses(with_empty):
        assert np.isfinite(values.numpy()).all()
    state, memory = model.start(with_empty["source_ids"])
    results = model.step(tf.zeros([len(PAIRS) + 1, 1], tf.int32), with_hypotheses(state), memory)
    assert all(np.isfinite(values.numpy()).all() for values in tf.nest.flatten(results))
    assert not results[1].numpy()[-1].any()  # nothing to look at


def search_steps(model, sources, words, extra=0):
    """Logits [I, B, K, V] and alignments of a search that takes `words` [I, K] in every
    sentence.
    """
    state, memory = model.start(padded(sources, extra))
    state = with_hypotheses(state, words.shape[1])
    scores = []
    alignments = []
    for row in words:
        previous = tf.tile(tf.constant(row, tf.int32)[None], [len(sources), 1])
        logits, alignment, state = model.step(previous, state, memory)
        scores.append(logits)
        alignments.append(alignment)
    return np.array(scores), np.array(alignments)


@each_system
def test_search_alone_or_in_a_batch(name):
    """Source padding, neighbours and the other hypotheses change nothing; padding is never looked
    at.
    """
    model, _ = shared_system(name)
    sources = [source for source, _ in PAIRS]
    words = np.array([[0, 0], [3, 5], [6, 2]])
    scores, alignments = search_steps(model, sources, words, extra=2)
    for row, source in enumerate(sources):
        assert not alignments[:, row, :, len(source) :].any()
        for k in range(2):
            alone, _ = search_steps(model, [source], words[:, k : k + 1])
            # `step` gives float32
            np.testing.assert_allclose(scores[:, row, k], alone[:, 0, 0], rtol=0, atol=1e-6)


@each_system
def test_search_and_training_agree(name):
    """`step`, one word at a time, gives what `call` gives for all positions."""
    model, call = shared_system(name)
    for source, target in PAIRS:
        scores, _ = search_steps(model, [source], np.array([[0, *target[:-1]]]).T)
        expected = call(batch([(source, target)]))[0]
        np.testing.assert_allclose(scores[:, 0, 0], expected, rtol=0, atol=2e-6)
