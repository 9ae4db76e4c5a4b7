"""Beam search against exhaustive search, a plain greedy loop and an independent beam search."""

import itertools

import numpy as np
import pytest
import search_reference as reference
import tensorflow as tf
from search_toy import Toy

from rnnsearch_tf.config import SearchConfig
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.search import beam
from rnnsearch_tf.search.beam import NO_HYPOTHESIS, beam_search
from rnnsearch_tf.search.graphs import IDS


def search(toy, config, nbest=1, sentences=None, extra_padding=0):
    """The result of a search, as NumPy arrays."""
    source_ids = toy.source_ids(sentences, extra_padding)
    result = beam_search(toy, source_ids, config, nbest, alignments=True)
    return type(result)(*(x.numpy() for x in result))


class Steps:
    """A model of a step function whose state counts the steps."""

    def __init__(self, step):
        self.step = step

    def start(self, source_ids):
        return tf.zeros_like(source_ids[:, 0]), ()


def same_as(result, row, expected, config):
    """One sentence's n-best list is the expected list of hypotheses, scores, ends and all."""
    found = [
        result.ids[row, n, :length].tolist()
        for n, length in enumerate(result.lengths[row])
        if length
    ]
    assert found == [h.words for h in expected]
    count = len(expected)
    assert np.all(result.lengths[row, count:] == 0)
    assert np.all(result.scores[row, count:] == np.float32(NO_HYPOTHESIS))
    assert not np.any(result.finished[row, count:])
    for n, hypothesis in enumerate(expected):
        assert np.all(result.ids[row, n, len(hypothesis.words) :] == 0)
    np.testing.assert_allclose(
        result.log_probabilities[row, :count], [h.log_probability for h in expected], atol=3e-6
    )
    scores = [h.score(config.length_penalty) for h in expected]
    np.testing.assert_allclose(result.scores[row, :count], scores, atol=3e-6)
    assert result.finished[row, :count].tolist() == [h.finished for h in expected]


# 257 is prime and 300 = 2 · 150: padded to blocks, which no step may read, or not
@pytest.mark.parametrize("vocabulary_size", [257, 300])
def test_a_vocabulary_smaller_than_the_beam(vocabulary_size, no_room):
    toy = Toy(seed=3, vocabulary_size=vocabulary_size, source_lengths=(2, 3), end_bias=4.0)
    config = SearchConfig(beam_size=310, maximum_length_ratio=1.0)
    result = search(toy, config, nbest=5)
    for sentence in range(2):
        same_as(result, sentence, reference.beam(toy, sentence, config, 5), config)


RULES = [
    dict(shrinking_beam=shrinking, length_penalty=penalty, allow_unknown=unknown)
    for shrinking, penalty, unknown in itertools.product(
        [False, True], [0.0, 0.6, 1.0], [True, False]
    )
]


def named(options):
    return ",".join(f"{key}={value}" for key, value in options.items())


@pytest.mark.parametrize("options", RULES, ids=named)
@pytest.mark.parametrize("minimum", [0.0, 0.5, 1.0])
def test_exhaustive_beam_is_brute_force(options, minimum, no_room):
    toy = Toy(seed=1)  # at most 2, 3 and 5 words: 364 hypotheses at most
    config = SearchConfig(
        beam_size=370, maximum_length_ratio=1.0, minimum_length_ratio=minimum, **options
    )
    result = search(toy, config, nbest=12)
    for sentence in range(3):
        expected = reference.brute_force(toy, sentence, config, 12)
        same_as(result, sentence, expected, config)
        assert expected[0].finished == (minimum < 1.0)


@pytest.mark.parametrize("options", RULES, ids=named)
@pytest.mark.parametrize("beam_size, minimum", [(1, 0.0), (1, 0.5), (2, 0.0), (5, 0.5)])
def test_beam_is_the_reference_beam(options, beam_size, minimum, no_room):
    config = SearchConfig(
        beam_size=beam_size, maximum_length_ratio=1.4, minimum_length_ratio=minimum, **options
    )
    toy = Toy(seed=beam_size, vocabulary_size=9, source_lengths=[4, 1, 6, 3] * 3, end_bias=1.0)
    result = search(toy, config, nbest=beam_size)
    for sentence in range(12):
        if int(toy.source_lengths[sentence] * 1.4):
            expected = reference.beam(toy, sentence, config, beam_size)
            same_as(result, sentence, expected, config)


@pytest.mark.parametrize(
    "options",
    [
        {},
        dict(shrinking_beam=True),
        dict(allow_unknown=False, minimum_length_ratio=0.5),
    ],
    ids=named,
)
@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_beam_of_one_is_greedy(options, penalty, no_room):
    config = SearchConfig(beam_size=1, length_penalty=penalty, maximum_length_ratio=2.0, **options)
    for seed in range(4):
        toy = Toy(seed=seed, vocabulary_size=7, source_lengths=(5, 2, 4))
        result = search(toy, config)
        for sentence in range(3):
            words, total = reference.greedy(toy, sentence, config)
            assert result.ids[sentence, 0, : len(words)].tolist() == words
            assert result.lengths[sentence, 0] == len(words)
            np.testing.assert_allclose(result.log_probabilities[sentence, 0], total, atol=3e-6)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_sentence_at_its_limit_ends_no_more(beam_size, no_room):
    """One of sixteen, computed along with the others until more are done; the end is likely from
    the third word on, and impossible before.
    """

    def step(previous_ids, state, memory):
        late = (state >= 2)[..., tf.newaxis]
        words = tf.where(
            late, tf.math.log([0.0, 0.9, 0.05, 0.05]), tf.math.log([0.0, 0.0, 0.1, 0.9])
        )
        return words, tf.ones_like(words), state + 1

    sources = tf.constant([[3, 1, 0, 0, 0, 0]] + [[3, 3, 3, 3, 3, 1]] * 15)
    config = SearchConfig(beam_size=beam_size, maximum_length_ratio=1.0)
    result = beam_search(Steps(step), sources, config)
    assert result.finished[:, 0].numpy().tolist() == [False] + [True] * 15
    assert result.lengths[:, 0].numpy().tolist() == [2] + [3] * 15
    assert result.ids[:, 0].numpy().tolist() == [[3, 3, 0]] + [[3, 3, 1]] * 15


@pytest.mark.parametrize("shrinking", [False, True])
def test_a_cut_hypothesis_is_returned_only_if_none_has_finished(shrinking, no_room):
    """The end has probability 0.1 at every step: cut hypotheses are more probable than those that
    finish.
    """

    def step(previous_ids, state, memory):
        can_end = memory[:, tf.newaxis, tf.newaxis]
        words = tf.math.log([0.0, 0.1, 0.0, 0.9, 0.0])
        words = tf.where(can_end, words, tf.math.log([0.0, 0.0, 0.0, 0.9, 0.1]))
        words += tf.zeros_like(previous_ids, tf.float32)[..., tf.newaxis]
        return words, tf.ones_like(words), state

    model = Steps(step)
    model.start = lambda ids: (tf.zeros_like(ids[:, 0]), ids[:, 0] == 3)
    config = SearchConfig(
        beam_size=3, length_penalty=0.0, maximum_length_ratio=1.0, shrinking_beam=shrinking
    )
    result = beam_search(model, tf.constant([[3, 3, 1], [4, 4, 1]]), config, nbest=3)
    assert result.finished.numpy().tolist()[0][0] and not result.finished[1].numpy().any()
    for place, length in enumerate(result.lengths[0].numpy()):
        assert result.finished[0, place].numpy() == (length > 0)
    assert result.ids[1, 0].numpy().tolist() == [3, 3, 3]


@pytest.mark.parametrize("options", RULES[::2], ids=named)
@pytest.mark.parametrize("nbest", [1, 3])
def test_early_stop_gives_the_answer_of_a_full_search(options, nbest, monkeypatch):
    toy = Toy(seed=4, vocabulary_size=8, source_lengths=[6, 3, 4] * 5, end_bias=3.0)
    config = SearchConfig(beam_size=5, maximum_length_ratio=2.0, **options)
    steps = []

    class Counted(Toy):
        def step(self, previous_ids, state, memory):
            steps.append(len(previous_ids))
            return super().step(previous_ids, state, memory)

    toy.__class__ = Counted
    short = search(toy, config, nbest)
    taken = sum(steps)
    steps.clear()
    monkeypatch.setattr(beam, "is_settled", lambda best, *_: tf.zeros_like(best, tf.bool))
    full = search(toy, config, nbest)
    for a, b in zip(short, full):
        np.testing.assert_array_equal(a, b)
    assert taken <= sum(steps)
    if nbest == 1 or config.length_penalty == 0.0:
        assert taken < sum(steps)


@pytest.mark.parametrize("shrinking", [False, True])
def test_a_sentence_alone_is_the_sentence_in_a_batch(shrinking):
    toy = Toy(seed=5, vocabulary_size=11, source_lengths=(3, 9, 1, 5, 2, *[8] * 12))
    config = SearchConfig(
        beam_size=4,
        shrinking_beam=shrinking,
        minimum_length_ratio=0.5,
        maximum_length_ratio=2.0,
    )
    run = tf.function(
        lambda source_ids: beam_search(toy, source_ids, config, 3, alignments=True),
        autograph=False,
        input_signature=[IDS],
    )
    # some sentences that are done stay in the computation, some are taken out
    together = run(toy.source_ids())
    for sentence in range(6):
        alone = run(toy.source_ids([sentence], extra_padding=2))
        for n, length in enumerate(alone.lengths[0].numpy()):
            assert together.lengths[sentence, n] == length
            np.testing.assert_array_equal(
                together.ids[sentence, n, :length], alone.ids[0, n, :length]
            )
            j = toy.source_lengths[sentence]
            here = together.alignments[sentence, n, :length, :j]
            there = alone.alignments[0, n, :length, :j]
            np.testing.assert_allclose(here, there, atol=1e-6)
        np.testing.assert_allclose(together.scores[sentence], alone.scores[0], atol=1e-6)


@pytest.mark.parametrize("shrinking", [False, True])
def test_the_words_alignments_and_probabilities_follow_the_survivors(shrinking):
    toy = Toy(seed=7, vocabulary_size=10, source_lengths=(6, 4, 5), end_bias=2.0)
    config = SearchConfig(beam_size=6, shrinking_beam=shrinking, minimum_length_ratio=0.75)
    result = search(toy, config, nbest=6)
    assert np.all(result.lengths[:, :2] >= 4)  # long enough to have changed places
    for sentence, n in itertools.product(range(3), range(6)):
        length = result.lengths[sentence, n]
        j = toy.source_lengths[sentence]
        log_probabilities, alignments = toy.follow(sentence, result.ids[sentence, n, :length])
        if length:
            total = log_probabilities.sum()
            np.testing.assert_allclose(result.log_probabilities[sentence, n], total, atol=3e-6)
            words = result.token_log_probabilities[sentence, n, :length]
            np.testing.assert_allclose(words, log_probabilities, atol=1e-6)
            attention = result.alignments[sentence, n, :length, :j]
            np.testing.assert_allclose(attention, alignments, atol=1e-6)
        assert np.all(result.token_log_probabilities[sentence, n, length:] == 0)
        assert np.all(result.alignments[sentence, n, length:] == 0)
        assert np.all(result.alignments[sentence, n, :, j:] == 0)


def test_without_alignments_the_search_is_the_same():
    toy = Toy(seed=7, vocabulary_size=10, source_lengths=(6, 4, 5), end_bias=2.0)
    config = SearchConfig(beam_size=4)
    expected, found = (
        beam_search(toy, toy.source_ids(), config, 1, kept) for kept in (True, False)
    )
    for name in ("ids", "lengths", "scores", "finished"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert expected.alignments.shape[3] == 6
    assert found.alignments.shape[3] == 0


@pytest.mark.parametrize("shrinking", [False, True])
def test_probabilities_of_all_outputs_sum_to_one(shrinking):
    toy = Toy(seed=3, vocabulary_size=5, source_lengths=(2, 3, 5), end_at=4)
    config = SearchConfig(beam_size=100, length_penalty=0.0, shrinking_beam=shrinking)
    result = search(toy, config, nbest=60)
    assert (result.lengths > 0).sum(axis=1).tolist() == [1 + 3 + 9 + 27] * 3
    np.testing.assert_allclose(np.exp(result.scores).sum(axis=1), 1.0, atol=1e-5)


def test_a_finished_hypothesis_keeps_its_score(monkeypatch):
    """The end symbol has probability 0.55 at the first step; later steps must not multiply it
    again.
    """

    def step(previous_ids, state, memory):
        first = tf.math.log([0.0, 0.55, 0.0, 0.45, 0.0])
        later = tf.math.log([0.0, 0.25, 0.0, 0.5, 0.25])
        chosen = tf.where((state == 0)[..., None], first, later)
        return chosen, tf.ones_like(chosen[..., :1]), state + 1

    config = SearchConfig(beam_size=3, length_penalty=0.0)
    monkeypatch.setattr(beam, "is_settled", lambda best, *_: tf.zeros_like(best, tf.bool))
    result = beam_search(Steps(step), tf.ones([3, 4], tf.int32), config, nbest=3)
    for values in result.scores, result.log_probabilities:
        np.testing.assert_allclose(np.exp(values[:, 0]), 0.55, rtol=1e-6)
    assert result.ids[:, 0, 0].numpy().tolist() == [1, 1, 1]


def test_nothing_finite_to_choose_gives_an_empty_list_without_nan():
    def step(previous_ids, state, memory):
        impossible = tf.fill(tf.concat([tf.shape(previous_ids), [6]], 0), -np.inf)
        return impossible, tf.ones_like(impossible[..., :1]), state

    result = beam_search(Steps(step), tf.ones([3, 4], tf.int32), SearchConfig(beam_size=2))
    assert result.lengths.numpy().tolist() == [[0]] * 3 and not np.any(np.isnan(result.scores))


@pytest.mark.parametrize("nbest", [0, 3, "two"])
def test_an_impossible_nbest_is_refused(nbest):
    with pytest.raises(UsageError, match="nbest"):
        search(Toy(), SearchConfig(beam_size=2), nbest)


@pytest.mark.parametrize("ratio", [0.29, 0.5, 0.7, 1.1, 3.0, 0.01])
def test_limits_are_the_fractions_that_were_written(ratio, no_room):
    config = SearchConfig(minimum_length_ratio=ratio, maximum_length_ratio=ratio)
    expected = [reference.limits(length, config) for length in range(1, 301)]
    source_ids = tf.sequence_mask(tf.range(1, 301), dtype=tf.int32)
    lowest, highest = (limits.numpy() for limits in beam.length_limits(source_ids, config))
    assert lowest.tolist() == [low for low, _ in expected]
    assert np.maximum(highest, 1).tolist() == [high for _, high in expected]


def test_a_short_sentence_has_room():
    """At least 20 words more than the source; and a model that never ends fills it."""

    def step(previous_ids, state, memory):
        words = tf.math.log([0.0, 0.0, 0.5, 0.5]) + tf.zeros([*previous_ids.shape, 1])
        return words, words[..., :1], state

    source_ids = tf.sequence_mask([1, 2, 9, 10, 11, 50], dtype=tf.int32)
    _, limits = beam.length_limits(source_ids, SearchConfig())
    assert limits.numpy().tolist() == [21, 22, 29, 30, 33, 150]
    result = beam_search(Steps(step), tf.constant([[3, 1, 0], [3, 3, 1]]), SearchConfig())
    assert result.lengths.numpy().tolist() == [[22], [23]] and not result.finished.numpy().any()
