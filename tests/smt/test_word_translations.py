"""IBM Model 1 against dictionaries and loops, and what it must give."""

import collections

import numpy as np
import pytest
from rnnsearch_tf.alignment.word_translations import translation_probabilities


def plain(pairs, iterations):
    """Brown et al. 1993 by loops: {(source, target): t}."""
    t = collections.defaultdict(lambda: 1.0)
    for _ in range(iterations):
        counts = collections.Counter()
        totals = collections.Counter()
        for source, target in pairs:
            for f in target:
                total = sum(t[e, f] for e in source)
                for e in source:
                    counts[e, f] += t[e, f] / total
                    totals[e] += t[e, f] / total
        t = {(e, f): counts[e, f] / totals[e] for e, f in counts}
    return t


@pytest.mark.parametrize("iterations", (1, 2, 7, None))
def test_it_is_that_of_plain_loops(iterations):
    """None: nothing is said of iterations, and there are five."""
    generator = np.random.default_rng(2)
    pairs = [
        (
            [*generator.integers(2, 9, generator.integers(0, 6)).tolist(), 1],
            generator.integers(2, 11, generator.integers(0, 7)).tolist(),
        )
        for _ in range(40)
    ]
    expected = plain(pairs, iterations or 5)
    said = {} if iterations is None else {"iterations": iterations}
    sources, targets, probabilities = translation_probabilities(iter(pairs), 11, **said)
    found = {(int(e), int(f)): p for e, f, p in zip(sources, targets, probabilities)}
    assert found.keys() == expected.keys()
    assert found == pytest.approx(expected, abs=1e-12)
    assert list(sources) == sorted(sources)
    for word in set(sources):
        assert (np.diff(probabilities[sources == word]) <= 0).all()


def test_no_text_has_no_words():
    for pairs in ([], [([1], [])]):
        assert [len(each) for each in translation_probabilities(pairs, 5)] == [0, 0, 0]
