"""The variance of a difference over seeds and over the test text, and the verdicts."""

import itertools
import math
import random

import numpy as np
import pytest
import sacrebleu
import scipy.stats
from papers_data import multi30k

from papers.corpora import MOST_JOINED, JoinedTexts, write_joined
from papers.resampling import RESAMPLES, Counts, Difference, Likelihoods, counts_of, holm, verdicts

WORDS = "a b c d e f .".split()


def texts(seed, lines=40):
    """References, and translations that share most of their words."""
    generator = random.Random(seed)
    references = [
        " ".join(generator.choices(WORDS, k=generator.randint(4, 12))) for _ in range(lines)
    ]
    translations = [
        " ".join(word if generator.random() < 0.85 else "x" for word in line.split())
        for line in references
    ]
    return translations, references


def bleu_of(translations, references, lines, lowercase=False):
    return sacrebleu.corpus_bleu(
        [translations[k] for k in lines],
        [[references[k] for k in lines]],
        tokenize="none",
        force=True,
        lowercase=lowercase,
    ).score


def test_bleu_of_resampled_lines_is_that_of_the_lines_written_out():
    translations, references = texts(1)
    counts = Counts(counts_of(translations, references))
    generator = np.random.default_rng(2)
    drawn = generator.integers(0, 40, size=(20, 40))
    weights = np.stack([np.bincount(each, minlength=40) for each in drawn])
    expected = [bleu_of(translations, references, each) for each in drawn]
    assert counts.bleu(weights) == pytest.approx(expected)
    assert counts.bleu() == pytest.approx([bleu_of(translations, references, range(40))])
    few = list(range(0, 40, 3))
    assert counts.only(few).bleu(weights) == pytest.approx(
        [bleu_of(translations, references, [k for k in each if k in few]) for each in drawn]
    )


def test_perplexity_of_resampled_lines_is_that_of_the_lines_written_out():
    generator = np.random.default_rng(3)
    lines = [(-8 * generator.random(), int(generator.integers(1, 9))) for _ in range(40)]
    drawn = generator.integers(0, 40, size=(20, 40))
    weights = np.stack([np.bincount(each, minlength=40) for each in drawn])

    def perplexity(chosen):
        return math.exp(-math.fsum(lines[k][0] for k in chosen) / sum(lines[k][1] for k in chosen))

    found = Likelihoods(lines)
    assert found.perplexity(weights) == pytest.approx(list(map(perplexity, drawn)))
    assert found.perplexity() == pytest.approx([perplexity(range(40))])


def test_case_counts_only_where_it_is_asked_for():
    upper = ["A B C D E"], ["a b c d e"]
    assert Counts(counts_of(*upper, lowercase=True)).bleu() == pytest.approx([100])
    assert Counts(counts_of(*upper)).bleu()[0] < 1


def test_lines_without_words_are_counted():
    assert counts_of(["", "a"], ["a b", "a"]) == [[0, 0, 0, 0, 0, 2], [1, 0, 0, 0, 1, 1]]


@pytest.mark.parametrize("lines_of_unit", [1, 5])
def test_the_variance_of_a_mean_is_that_of_statistics(lines_of_unit):
    """Of the mean over units of their sums, the variance is the sample variance over the number of
    units, whatever the lines of a unit have in common.
    """
    generator = np.random.default_rng(3)
    count = 60
    units = np.repeat(np.arange(count), lines_of_unit)
    values = generator.normal(size=count)[units] + 0.1 * generator.normal(size=len(units))
    found = Difference.of(
        [1.0], lambda weights: [weights @ values / count], [f"unit {unit}" for unit in units]
    )
    sums = values.reshape(count, lines_of_unit).sum(axis=1)
    assert found.variance == pytest.approx(np.var(sums, ddof=1) / count, rel=4 / RESAMPLES**0.5)
    assert found.units == count


def test_a_difference_of_seeds_is_judged_as_by_student():
    values = [1.0, 2.5, 2.2, 0.4]
    found = Difference(values)
    expected = scipy.stats.ttest_1samp(values, 0)
    low, high = expected.confidence_interval(0.95)
    assert found.probability == pytest.approx(expected.pvalue)
    assert (found.mean - found.margin, found.mean + found.margin) == pytest.approx((low, high))


def test_both_variances_are_added_as_by_welch():
    """SciPy's test of two groups, whose means have these variances."""
    values, variance, units = [1.0, 2.5, 2.2], 0.09, 17
    expected = scipy.stats.ttest_ind_from_stats(
        np.mean(values), np.std(values, ddof=1), 3, 0, (variance * units) ** 0.5, units, False
    )
    assert Difference(values, variance, units).probability == pytest.approx(expected.pvalue)


def test_one_seed_decides_nothing_and_with_the_text_is_suggestive():
    alone, with_text, below = Difference([9.0]), Difference([9.0], 0.01, 50), Difference([-9.0])
    assert alone.probability is None and alone.margin is None
    assert with_text.margin == pytest.approx(scipy.stats.t.ppf(0.975, 49) * 0.1)
    assert verdicts([alone, with_text, below, Difference([-9.0], 0.01, 50)]) == [
        "undecided",
        "suggestive",
        "undecided",
        "undecided",
    ]


def test_equal_values_do_not_say_how_they_vary():
    assert verdicts([Difference([-0.5] * 3), Difference([0.5] * 2)]) == ["undecided"] * 2


def test_shares_vary_as_drawn_cases_do():
    """The variance of the mean share is that of a binomial, within one case on either side; equal
    shares of 0 vary, too.
    """
    found = Difference.of_shares([0.3, 0.4], 1000)
    assert found.values == pytest.approx([-0.2, -0.1])
    assert found.variance == pytest.approx(scipy.stats.binom.var(1000, 0.35) / 1000**2, rel=0.01)
    never = Difference.of_shares([0.0] * 3, 120)
    assert 0 < never.variance < 1e-3 and verdicts([never]) == ["not held"]


def test_a_text_of_one_unit_says_nothing():
    found = Difference.of([1.0, 2.0], lambda weights: [np.ones(3)] * 2, ["all", "all"])
    assert found.variance is None and found.values == [1.0, 2.0]


def test_holm_corrects_as_he_states_it():
    """For every order of them: rejected are the smallest while each is below 5 % over the number
    of those left.
    """
    for values in itertools.permutations([0.004, 0.011, 0.02, 0.03, 0.4]):
        rejected = set()
        for k, value in enumerate(sorted(values)):
            if value >= 0.05 / (len(values) - k):
                break
            rejected.add(value)
        adjusted = holm(values)
        assert {value for value, corrected in zip(values, adjusted) if corrected < 0.05} == rejected
        assert all(corrected >= value for value, corrected in zip(values, adjusted))


def test_corrected_probabilities_keep_their_order():
    """A probability is not corrected to less than a smaller one."""
    assert holm([0.01, 0.011, 0.5]) == pytest.approx([0.03, 0.03, 0.5])


def test_no_line_of_a_unit_shares_a_caption_with_another_unit(tmp_path):
    captions = 130
    data = multi30k(tmp_path / "data", captions)
    write_joined(data, tmp_path, longest=90)
    lines = (tmp_path / "test.en").read_text(encoding="utf-8").splitlines()
    units = JoinedTexts(tmp_path, data).units
    assert len(units) == len(lines)
    # the n-th caption's words begin with n
    spans = [{int(word.split("w")[0]) for word in line.split()} for line in lines]
    of_units = [
        set().union(*(span for span, its in zip(spans, units) if its == unit))
        for unit in range(max(units) + 1)
    ]
    assert len(of_units) == 3 and MOST_JOINED == 5
    for one, other in itertools.combinations(of_units, 2):
        assert not one & other
