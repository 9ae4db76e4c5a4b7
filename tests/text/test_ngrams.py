"""The n-gram model against counts in dictionaries and the equation as it is written, and against
the sum of all probabilities.
"""

import itertools
import math
import random

import numpy as np
import pytest

from rnnsearch_tf.text.ngrams import NgramModel

BEGIN = "begin"
END = 1
SIZE = 7
"""Ids below SIZE can come, but for 0, which pads."""


def drawn(number, seed):
    """Sentences of ids that follow each other more or less often, some of them again and again,
    some empty.
    """
    generator = random.Random(seed)
    sentences = [
        [generator.choice([2, 3, 3, 4, 5, 5, 5]) for _ in range(generator.randint(0, 7))] + [END]
        for _ in range(number)
    ]
    return sentences + sentences[: number // 3]


def flat(sentences):
    return list(itertools.chain(*sentences)), list(map(len, sentences))


class Reference:
    """Kneser and Ney's equation, one probability at a time."""

    def __init__(self, sentences, order):
        self.order = order
        self.raw = {}
        for sentence in sentences:
            words = (BEGIN, *sentence)
            for last in range(1, len(words)):
                for first in range(max(0, last - order + 1), last + 1):
                    gram = words[first : last + 1]
                    self.raw[gram] = self.raw.get(gram, 0) + 1

    def count(self, gram):
        if len(gram) == self.order or gram[0] == BEGIN:
            return self.raw.get(gram, 0)
        return len({longer[0] for longer in self.raw if longer[1:] == gram})

    def discount(self, n):
        counts = [self.count(gram) for gram in self.raw if len(gram) == n]
        once = counts.count(1)
        twice = counts.count(2)
        return once / (once + 2 * twice) if once and twice else 0.5

    def probability(self, word, before):
        before = before[-(self.order - 1) :] if self.order > 1 else ()
        return self._probability(word, before)

    def _probability(self, word, before):
        lower = self._probability(word, before[1:]) if before else 1 / (SIZE - 1)
        follow = [self.count((*before, other)) for other in range(SIZE)]
        if not sum(follow):
            return lower
        d = self.discount(len(before) + 1)
        return (
            max(self.count((*before, word)) - d, 0) + d * sum(c > 0 for c in follow) * lower
        ) / sum(follow)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_it_is_the_equation(order):
    training = drawn(12, seed=order)
    other = drawn(6, seed=9)
    model = NgramModel(*flat(training), SIZE, SIZE - 1, order)
    reference = Reference(training, order)
    for sentences in (training[:4], other, [[6, 6, END]], [[END]]):
        expected = [
            math.log(reference.probability(w, (BEGIN, *s[:k])))
            for s in sentences
            for k, w in enumerate(s)
        ]
        np.testing.assert_allclose(
            model.log_probabilities(*flat(sentences)), expected, rtol=0, atol=1e-12
        )


@pytest.mark.parametrize("before", [[], [3], [5, 5], [6, 2], [3, 5, 5], [5, 5, 5, 5]])
def test_the_probabilities_of_the_next_word_sum_to_one(before):
    model = NgramModel(*flat(drawn(30, seed=4)), SIZE, SIZE - 1, 4)
    p = [
        math.exp(model.log_probabilities([*before, word], [len(before) + 1])[-1])
        for word in range(1, SIZE)
    ]
    assert min(p) > 0 and sum(p) == pytest.approx(1, abs=1e-12)


def test_a_sentence_alone_or_among_others():
    sentences = drawn(20, seed=5)
    model = NgramModel(*flat(drawn(30, seed=4)), SIZE, SIZE - 1, 4)
    alone = np.concatenate([model.log_probabilities(*flat([sentence])) for sentence in sentences])
    assert (model.log_probabilities(*flat(sentences)) == alone).all()


def test_a_text_of_one_line():
    model = NgramModel([1], [1], SIZE, SIZE - 1, 4)
    assert np.isfinite(model.log_probabilities([3, 4, 5, 2, 1], [5])).all()
