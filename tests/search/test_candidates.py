"""The blocked top-k is one top-k over all (hypothesis, word) pairs, ties included."""

import numpy as np
import pytest

from rnnsearch_tf.search.candidates import NO_HYPOTHESIS, best_continuations


def plain(log_probabilities, live, count, first_word):
    totals = np.minimum(log_probabilities, np.float32(0.0)) + live[:, :, None]
    totals[:, :, :first_word] = -np.inf
    totals[totals < NO_HYPOTHESIS / 2] = -np.inf
    flat = totals.reshape(len(totals), -1)
    order = np.argsort(-flat, axis=1, kind="stable")[:, :count]
    return np.take_along_axis(flat, order, axis=1), order // totals.shape[2], order % totals.shape[2]


@pytest.mark.parametrize("vocabulary_size", [4, 7, 256, 300, 1000, 1009, 514])  # 1009 is prime, 514 = 2 · 257: padded
@pytest.mark.parametrize("beam_size, count", [(1, 5), (4, 4), (3, 12)])
def test_blocked_top_k(vocabulary_size, beam_size, count):
    random = np.random.default_rng(vocabulary_size)
    # few distinct values, so that there are ties everywhere
    log_probabilities = -random.integers(0, 40, size=(3, beam_size, vocabulary_size)).astype(np.float32) / 4
    log_probabilities[1, :, ::3] = -np.inf
    live = -random.integers(0, 4, size=(3, beam_size)).astype(np.float32)
    live[2, 1:] = NO_HYPOTHESIS
    expected = plain(log_probabilities, live, count, first_word=2)
    totals, parents, words = (x.numpy() for x in best_continuations(log_probabilities, live, count, first_word=2))
    there = np.isfinite(expected[0])
    assert np.all(totals[:, : there.shape[1]][~there] == np.float32(NO_HYPOTHESIS))
    assert np.all(totals[:, there.shape[1] :] == np.float32(NO_HYPOTHESIS))
    assert np.all((0 <= parents) & (parents < beam_size))
    for found, wanted in zip((totals, parents, words), expected):
        np.testing.assert_array_equal(found[:, : there.shape[1]][there], wanted[there])


def test_logits_are_normalized_on_the_way():
    """Shifted words with the shift beside them give what the log-probabilities give; numbers that float32 holds exactly."""
    random = np.random.default_rng(5)
    log_probabilities = -random.integers(0, 40, size=(3, 4, 300)).astype(np.float32) / 4
    live = -random.integers(0, 4, size=(3, 4)).astype(np.float32)
    log_sum = random.integers(-20, 20, size=(3, 4)).astype(np.float32)
    plainly = best_continuations(log_probabilities, live, 5, first_word=2)
    shifted = best_continuations((log_probabilities + log_sum[:, :, None], log_sum), live, 5, first_word=2)
    for one, other in zip(plainly, shifted):
        np.testing.assert_array_equal(one, other)


def test_rounding_above_zero_is_cut():
    totals, _, words = best_continuations(np.array([[[-9.0, -9.0, 1e-6, -5.0]]], np.float32), np.zeros((1, 1), np.float32), 2, 2)
    assert totals.numpy().tolist() == [[0.0, -5.0]] and words.numpy().tolist() == [[2, 3]]
