"""The blocked top-k is one top-k over all (hypothesis, word) pairs, ties included."""

import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.search.topk import NO_HYPOTHESIS, best_continuations, continuations_by, next_words


def normalized(log_probabilities):
    """NextWords of these very numbers, so that ties are exact."""
    return next_words(log_probabilities)._replace(
        log_sum=tf.zeros(log_probabilities.shape[:2], log_probabilities.dtype)
    )


def plain(log_probabilities, live, count, first_word):
    totals = np.minimum(log_probabilities, np.float32(0.0)) + live[:, :, None]
    totals[:, :, :first_word] = -np.inf
    totals[totals < NO_HYPOTHESIS / 2] = -np.inf
    flat = totals.reshape(len(totals), -1)
    order = np.argsort(-flat, axis=1, kind="stable")[:, :count]
    return (
        np.take_along_axis(flat, order, axis=1),
        order // totals.shape[2],
        order % totals.shape[2],
    )


# 1009 is prime, 391 = 17 · 23, 514 = 2 · 257: padded
@pytest.mark.parametrize("vocabulary_size", [4, 256, 391, 1000, 1009, 514])
@pytest.mark.parametrize("beam_size, count", [(1, 5), (4, 4), (3, 12), (1, 400)])
def test_blocked_top_k(vocabulary_size, beam_size, count):
    random = np.random.default_rng(vocabulary_size)
    # few distinct values, so that there are ties everywhere
    log_probabilities = (
        -random.integers(0, 40, size=(3, beam_size, vocabulary_size)).astype(np.float32) / 4
    )
    log_probabilities[1, :, ::3] = -np.inf
    live = -random.integers(0, 4, size=(3, beam_size)).astype(np.float32)
    live[2, 1:] = NO_HYPOTHESIS
    expected = plain(log_probabilities, live, count, first_word=2)
    totals, parents, words = (
        x.numpy()
        for x in best_continuations(normalized(log_probabilities), live, count, first_word=2)
    )
    there = np.isfinite(expected[0])
    assert np.all(totals[:, : there.shape[1]][~there] == np.float32(NO_HYPOTHESIS))
    assert np.all(totals[:, there.shape[1] :] == np.float32(NO_HYPOTHESIS))
    assert np.all((0 <= parents) & (parents < beam_size))
    assert np.all((0 <= words) & (words < vocabulary_size)), (
        "the next step reads the words of empty places too"
    )
    for found, wanted in zip((totals, parents, words), expected):
        np.testing.assert_array_equal(found[:, : there.shape[1]][there], wanted[there])


@pytest.mark.parametrize("vocabulary_size", [4, 300, 1009])
@pytest.mark.parametrize("first_word", [2, 3])
def test_the_best_of_one_hypothesis(vocabulary_size, first_word):
    """Ties everywhere, a sentence without any word, and one whose hypothesis is none."""
    random = np.random.default_rng(vocabulary_size)
    log_probabilities = -random.integers(0, 9, size=(40, 1, vocabulary_size)).astype(np.float32) / 4
    log_probabilities[::3, :, :first_word] = (
        1e-6  # the likeliest word is no continuation; rounding above zero
    )
    log_probabilities[::5, :, 3:] = 1e-6 * np.arange(1, vocabulary_size - 2, dtype=np.float32)
    log_probabilities[1] = -np.inf
    log_probabilities[2] = np.nan
    live = -random.integers(0, 4, size=(40, 1)).astype(np.float32)
    live[4] = NO_HYPOTHESIS
    expected = plain(log_probabilities, live, 1, first_word)
    totals, _, words = (
        x.numpy() for x in best_continuations(normalized(log_probabilities), live, 1, first_word)
    )
    there = np.isfinite(expected[0])
    np.testing.assert_array_equal(totals, np.where(there, expected[0], np.float32(NO_HYPOTHESIS)))
    np.testing.assert_array_equal(words[there], expected[2][there])


@pytest.mark.parametrize("vocabulary_size", [4, 300, 1009])
def test_logits_are_normalized_on_the_way(vocabulary_size):
    """Logits give what the log-probabilities computed from them in float64 give, however large they
    are.
    """
    random = np.random.default_rng(5)
    logits = random.normal(scale=4, size=(3, 4, vocabulary_size)) + random.integers(
        -200, 200, size=(3, 4, 1)
    )
    logits = logits.astype(np.float32)
    live = -random.integers(0, 4, size=(3, 4)).astype(np.float32)
    exact = logits.astype(np.float64)
    exact -= exact.max(-1, keepdims=True)
    exact -= np.log(np.exp(exact).sum(-1, keepdims=True))
    words = next_words(tf.constant(logits))
    totals, parents, chosen = (x.numpy() for x in best_continuations(words, live, 5, first_word=2))
    expected = plain(exact, live, 5, first_word=2)
    np.testing.assert_allclose(totals, expected[0], atol=1e-4)
    np.testing.assert_array_equal(parents, expected[1])
    np.testing.assert_array_equal(chosen, expected[2])
    np.testing.assert_allclose(continuations_by(words, live, 1), exact[:, :, 1] + live, atol=1e-4)


def test_rounding_above_zero_is_cut():
    totals, _, words = best_continuations(
        normalized(np.array([[[-9.0, -9.0, 1e-6, -5.0]]], np.float32)),
        np.zeros((1, 1), np.float32),
        2,
        2,
    )
    assert totals.numpy().tolist() == [[0.0, -5.0]] and words.numpy().tolist() == [[2, 3]]
