"""Search for outputs with given phrases against exhaustive search; without phrases it is beam
search.
"""

import itertools

import numpy as np
import pytest
import search_reference as reference
import tensorflow as tf
from search_toy import END, Toy

from rnnsearch_tf.config import SearchConfig
from rnnsearch_tf.search.beam import beam_search
from rnnsearch_tf.search.constrained import Phrases, constrained_search


def padded(phrases):
    """Phrases of each sentence as int32 [B, P, L]."""
    count = max(map(len, phrases))
    length = max((len(p) for row in phrases for p in row), default=0)
    ids = np.zeros([len(phrases), max(count, 1), max(length, 1)], np.int32)
    for row, n in itertools.product(range(len(phrases)), range(count)):
        if n < len(phrases[row]):
            ids[row, n, : len(phrases[row][n])] = phrases[row][n]
    return ids


def search(toy, config, phrases, within=(), sentences=None, step=None, **options):
    """The result of a search, as NumPy arrays; words of `within` go on in the word before, which
    every word then leaves open.
    """
    state, memory, lengths = toy.start(sentences)
    begins = np.isin(np.arange(toy.vocabulary_size), within)
    wanted = Phrases(
        tf.constant(padded(phrases)),
        tf.constant(begins),
        tf.fill([toy.vocabulary_size], len(within) > 0),
    )
    result = constrained_search(state, memory, step or toy.step, lengths, wanted, config, **options)
    return type(result)(*(x.numpy() for x in result))


def has(words, phrase, within=()):
    """Whether the phrase stands in an output, ended or not."""
    words = [word for word in words if word != END]
    places = range(len(words) - len(phrase) + 1)
    return any(
        words[k : k + len(phrase)] == phrase and not set(words[k + len(phrase) :][:1]) & set(within)
        for k in places
    )


def brute_force(toy, sentence, config, phrases, within):
    """Every output with the phrases, best first; the unfinished ones if none can finish."""
    minimum, maximum = reference.limits(int(toy.source_lengths[sentence]), config)
    live = [reference.Hypothesis([], 0.0, toy.first(sentence))]
    finished = []
    for time in range(maximum + sum(map(len, phrases))):
        grown = [
            reference.grow(toy, sentence, h, time >= minimum, reference.words_allowed(toy, config))
            for h in live
        ]
        finished += [
            h
            for ended, _ in grown
            for h in ended
            if all(has(h.words, phrase, within) for phrase in phrases)
        ]
        live = [h for _, continued in grown for h in continued]
    live = [h for h in live if all(has(h.words, phrase, within) for phrase in phrases)]
    return reference.best(
        finished or live, config.length_penalty, config.nbest, config.coverage_penalty
    )


PHRASES = [[[3]], [[3, 4]], [[3, 3, 4]], [[3, 4, 3]], [[2], [4]], [[2, 2], [4]], [[2], [3], [4]]]


@pytest.mark.parametrize("within", [(), pytest.param((4, 3), marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize(
    "options",
    [
        dict(length_penalty=0.0),
        pytest.param({}, marks=pytest.mark.slow),
        pytest.param(dict(shrinking_beam=True), marks=pytest.mark.slow),
        dict(minimum_length_ratio=1.0),
    ],
    ids=str,
)
def test_a_wide_beam_is_brute_force(options, within):
    toy = Toy(seed=len(options) + len(within), source_lengths=(1, 2, 2))
    config = SearchConfig(beam_size=370, nbest=5, maximum_length_ratio=1.0, **options)
    more = [[[4], [4, 3]]] if within else []
    for phrases in PHRASES + more:
        result = search(toy, config, [phrases, phrases, []], within)
        for row, wanted in enumerate([phrases, phrases, []]):
            expected = brute_force(toy, row, config, wanted, within)
            found = [
                result.ids[row, n, :length].tolist()
                for n, length in enumerate(result.lengths[row])
                if length
            ]
            assert found == [h.words for h in expected]
            np.testing.assert_allclose(
                result.scores[row, : len(found)],
                [h.score(config.length_penalty) for h in expected],
                atol=3e-6,
            )
            assert result.finished[row, : len(found)].tolist() == [h.finished for h in expected]


@pytest.mark.parametrize(
    "beam_size",
    [1, pytest.param(2, marks=pytest.mark.slow), 5, pytest.param(12, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize(
    "options",
    [
        {},
        dict(length_penalty=0.0, shrinking_beam=True),
        dict(allow_unknown=False),
        dict(no_repeat_ngram=2),
    ],
    ids=str,
)
@pytest.mark.parametrize("within", [(), (4, 7, 9)], ids=str)
def test_every_output_has_its_phrases(beam_size, options, within):
    toy = Toy(seed=beam_size, vocabulary_size=11, source_lengths=[4, 1, 6, 3] * 6, end_bias=2.0)
    config = SearchConfig(beam_size=beam_size, nbest=beam_size, maximum_length_ratio=1.4, **options)
    random = np.random.default_rng(beam_size)
    phrases = [
        [random.integers(3, 6, random.integers(1, 4)).tolist() for _ in range(k % 4)]
        for k in range(24)
    ]
    result = search(toy, config, phrases, within)
    for row, n in itertools.product(range(24), range(beam_size)):
        words = result.ids[row, n, : result.lengths[row, n]].tolist()
        assert words or n, "every sentence has an output"
        if words:
            assert all(has(words, phrase, within) for phrase in phrases[row])
            if config.no_repeat_ngram:  # only a phrase may repeat
                wanted = {word for phrase in phrases[row] for word in phrase}
                pairs = list(itertools.pairwise(words))
                again = [pair for k, pair in enumerate(pairs) if pair in pairs[:k]]
                assert {word for _, word in again} <= wanted
            log_probabilities, alignment = toy.follow(row, words)
            np.testing.assert_allclose(
                result.log_probabilities[row, n], log_probabilities.sum(), rtol=1e-5
            )
            np.testing.assert_allclose(
                result.alignments[row, n, : len(words), : toy.source_lengths[row]],
                alignment,
                atol=1e-6,
            )


@pytest.mark.parametrize("beam_size", [1, pytest.param(2, marks=pytest.mark.slow), 5])
@pytest.mark.parametrize(
    "options",
    [
        {},
        dict(length_penalty=0.0),
        dict(shrinking_beam=True),
        dict(normalize_after=True, coverage_penalty=0.3),
        dict(no_repeat_ngram=2),
    ],
    ids=str,
)
def test_without_phrases_it_is_beam_search(beam_size, options):
    """In sentences with none, whatever the others of the batch have."""
    toy = Toy(seed=beam_size, vocabulary_size=9, source_lengths=[4, 1, 6, 3] * 3, end_bias=1.0)
    config = SearchConfig(
        beam_size=beam_size, nbest=beam_size, maximum_length_ratio=1.4, extra_length=2, **options
    )
    state, memory, lengths = toy.start()
    expected = [x.numpy() for x in beam_search(state, memory, toy.step, lengths, config)]
    for phrases in ([[]] * 12, [[[3, 4], [5]], []] * 6):
        found = search(toy, config, phrases)
        for row in (row for row in range(12) if not phrases[row]):
            for name, value, wanted in zip(found._fields, found, expected):
                value = value[row]
                wanted = wanted[row]
                size = tuple(min(sizes) for sizes in zip(value.shape, wanted.shape))
                cut = tuple(map(slice, size))
                np.testing.assert_array_equal(value[cut], wanted[cut], err_msg=name)
                assert value.sum() == pytest.approx(wanted.sum()), name


@pytest.mark.parametrize("options", [{}, dict(length_penalty=0.0)], ids=str)
def test_ties_fall_as_in_beam_search(options):
    """Every word is as likely as every other."""
    toy = Toy(vocabulary_size=6, source_lengths=(2, 3), spread=0.0)
    config = SearchConfig(beam_size=4, nbest=4, maximum_length_ratio=1.0, **options)
    state, memory, lengths = toy.start()
    expected = beam_search(state, memory, toy.step, lengths, config)
    np.testing.assert_array_equal(search(toy, config, [[], []]).ids, expected.ids)


def test_words_that_the_vocabulary_lacks_are_told_apart():
    """The model meets the unknown word; in the output they keep their ids."""
    toy = Toy(seed=3, vocabulary_size=7, source_lengths=(3, 4), end_bias=1.0)
    result = search(toy, SearchConfig(beam_size=6), [[[7], [8, 4]], [[9]]])
    for row, phrases in enumerate([[[7], [8, 4]], [[9]]]):
        words = result.ids[row, 0, : result.lengths[row, 0]].tolist()
        assert all(has(words, phrase) for phrase in phrases)
        as_known = [word if word < 7 else 2 for word in words]
        np.testing.assert_allclose(
            result.log_probabilities[row, 0], toy.follow(row, as_known)[0].sum(), rtol=1e-5
        )


@pytest.mark.slow
def test_early_stop_gives_the_answer_of_a_full_search(monkeypatch):
    toy = Toy(seed=4, vocabulary_size=8, source_lengths=[6, 3, 4] * 5, end_bias=3.0)
    phrases = [[[3, 4], [5]], [[6, 6, 4]], []] * 5
    for options in (dict(length_penalty=0.0), {}):
        config = SearchConfig(beam_size=6, nbest=2, maximum_length_ratio=2.0, **options)
        found = search(toy, config, phrases)
        with monkeypatch.context() as to_the_end:
            to_the_end.setattr(
                "rnnsearch_tf.search.beam.is_settled",
                lambda live, *_: tf.zeros_like(live[:, 0], tf.bool),
            )
            for short, full in zip(found, search(toy, config, phrases)):
                np.testing.assert_array_equal(short, full)


@pytest.mark.slow
def test_the_neighbours_do_not_matter():
    toy = Toy(seed=5, vocabulary_size=9, source_lengths=(3, 9, 1, 5, 2, *[8] * 4))
    config = SearchConfig(beam_size=5, maximum_length_ratio=2.0)
    phrases = [[[3, 4]], [[5], [6, 7, 6]], [], [[8]], [[3], [4], [5]], *[[[6]]] * 4]
    together = search(toy, config, phrases)
    for row in range(9):
        alone = search(toy, config, [phrases[row]], sentences=[row])
        length = alone.lengths[0, 0]
        assert (
            together.ids[row, 0, :length].tolist() == alone.ids[0, 0, :length].tolist()
            and together.lengths[row, 0] == length
        )
