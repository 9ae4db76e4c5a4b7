"""Minimum error rate training, against sacreBLEU and a search of the whole line."""

import numpy as np
import pytest
import sacrebleu

from papers.tuning import Candidates, best_step, tune

WORDS = "a b c d e f".split()


def random_lists(seed=1, sentences=12, longest=9, features=3):
    """(n-best lists, references): hypotheses are the reference with some words changed, left out or
    doubled.
    """
    generator = np.random.default_rng(seed)
    references = []
    lists = []
    for _ in range(sentences):
        words = list(generator.choice(WORDS, generator.integers(6, 12)))
        texts = []
        for _ in range(generator.integers(1, longest)):
            changed = [
                [word, generator.choice(WORDS), f"{word} {word}", ""][
                    generator.choice(4, p=[0.8, 0.1, 0.05, 0.05])
                ]
                for word in words
            ]
            texts.append(" ".join(" ".join(changed).split()))
        references.append(" ".join(words))
        lists.append([(text, generator.normal(size=features)) for text in texts])
    return lists, references


def corpus_bleu(lists, references, weights):
    texts = [
        max(entries, key=lambda entry: float(np.dot(entry[1], weights)))[0] for entries in lists
    ]
    return sacrebleu.corpus_bleu(
        texts, [references], tokenize="none", force=True, smooth_method="none"
    ).score


@pytest.mark.parametrize("seed", range(5))
def test_bleu_of_weights_is_sacrebleus(seed):
    lists, references = random_lists(seed)
    weights = np.random.default_rng(seed).normal(size=3)
    assert Candidates.from_lists(lists, references).bleu(weights) == pytest.approx(
        corpus_bleu(lists, references, weights)
    )


def test_sacrebleu_has_nothing_to_warn_of(caplog):
    Candidates.from_lists(*random_lists())
    assert not caplog.records


@pytest.mark.parametrize("seed", range(3))
def test_the_best_point_of_a_line_is_found(seed):
    lists, references = random_lists(seed)
    generator = np.random.default_rng(seed)
    weights = generator.normal(size=3)
    direction = generator.normal(size=3)
    candidates = Candidates.from_lists(lists, references)
    step, score = best_step(candidates, weights, direction)
    assert score == pytest.approx(corpus_bleu(lists, references, weights + step * direction))
    grid = np.concatenate(
        [np.linspace(-6, 6, 401), np.geomspace(6, 1e3, 50), -np.geomspace(6, 1e3, 50)]
    )
    assert (
        score
        >= max(corpus_bleu(lists, references, weights + point * direction) for point in grid) - 1e-9
    )


def test_a_feature_that_knows_the_best_hypotheses_is_found():
    lists, references = random_lists(3, sentences=30)
    metric = sacrebleu.BLEU(tokenize="none", force=True, effective_order=True)
    lists = [
        [
            (text, [*values[:2], metric.sentence_score(text, [reference]).score / 100])
            for text, values in entries
        ]
        for entries, reference in zip(lists, references)
    ]
    weights, score = tune(Candidates.from_lists(lists, references), [1.0, 1.0, 0.0])
    assert score == pytest.approx(corpus_bleu(lists, references, weights))
    assert (
        score
        >= corpus_bleu(lists, references, [0.0, 0.0, 1.0])
        > corpus_bleu(lists, references, [1.0, 1.0, 0.0]) + 5
    )
    assert (
        tune(Candidates.from_lists(lists, references), [1.0, 1.0, 0.0])[0].tolist()
        == weights.tolist()
    )


def test_lists_of_one_hypothesis_leave_nothing_to_choose():
    candidates = Candidates.from_lists(
        [[("a b c d", [1.0])], [("a b c x", [2.0])]], ["a b c d", "a b c d"]
    )
    weights, score = tune(candidates, [0.5])
    assert weights.tolist() == [0.5] and 0 < score < 100


@pytest.mark.parametrize("seed", range(3))
def test_a_feature_that_is_constant_within_the_lists_keeps_its_weight(seed):
    """It decides nothing here, so that any weight has the same BLEU; in another text it may."""
    lists, references = random_lists(seed)
    lists = [[(text, [*values, 2.0]) for text, values in entries] for entries in lists]
    weights, score = tune(Candidates.from_lists(lists, references), [1.0, 1.0, 1.0, 0.25], 4, seed)
    assert weights[3] == 0.25
    assert score > corpus_bleu(lists, references, [1.0, 1.0, 1.0, 0.25])
