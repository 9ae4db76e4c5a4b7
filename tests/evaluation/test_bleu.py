"""Scores against sacreBLEU itself, called on its own."""

import random

import pytest
import sacrebleu
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.evaluation.bleu import bleu, by_length, tokenizer_for

WORDS = "the a red blue Car house , of man dog sits Runs near".split()


@pytest.fixture(scope="module")
def corpus():
    """References, and hypotheses that differ from them in a few words."""
    generator = random.Random(3)
    references = [
        " ".join(generator.choices(WORDS, k=generator.randint(1, 25))) + "." for _ in range(60)
    ]
    noisy = [
        " ".join(w if generator.random() < 0.8 else "cat" for w in line.split())
        for line in references
    ]
    return noisy, references


@pytest.mark.parametrize(
    "language, expected",
    [
        ("fr", "13a"),
        ("ko", "13a"),
        ("zh_Hans", "zh"),
        ("yue", "zh"),
        ("ja", "char"),
        ("th", "char"),
    ],
)
def test_the_tokenizer_of_a_language(language, expected):
    found = tokenizer_for(language)
    assert found == expected
    assert f"tok:{expected}" in bleu(["我喜欢猫。"], ["我喜欢狗。"], found).signature


def test_an_evaluation_keeps_no_lines_of_its_own(corpus):
    """sacreBLEU keeps every line that a tokenizer has cut, for each tokenizer again: a training
    that evaluates every hour would grow.
    """
    kept = Tokenizer13a.__call__.cache_info
    bleu(*corpus)
    before = kept().currsize
    for _ in range(3):
        bleu(*corpus)
    assert kept().currsize == before


def test_buckets_by_length(corpus):
    hypotheses, references = corpus
    lengths = [len(line.split()) for line in references]
    buckets = by_length(hypotheses, references, lengths)
    assert [(bucket["shortest"], bucket["longest"]) for bucket in buckets] == [
        (1, 10),
        (11, 20),
        (21, 30),
    ]
    assert sum(bucket["sentences"] for bucket in buckets) == len(references)
    for bucket in buckets:
        inside = [i for i, n in enumerate(lengths) if bucket["shortest"] <= n <= bucket["longest"]]
        expected = sacrebleu.corpus_bleu(
            [hypotheses[i] for i in inside], [[references[i] for i in inside]]
        )
        assert bucket["sentences"] == len(inside)
        assert bucket["bleu"] == expected.score


def test_references_may_be_an_iterator(corpus):
    hypotheses, references = corpus
    numbers = list(range(len(references)))
    expected = by_length(hypotheses, references, numbers)
    assert len(expected) > 1 and by_length(hypotheses, iter(references), numbers) == expected
    assert by_length(hypotheses, iter([iter(references)]), numbers) == expected


def test_an_empty_sentence_counts_in_the_first_bucket():
    assert by_length(["", "a"], ["", "a"], [0, 10])[0]["sentences"] == 2


def test_corpora_that_cannot_be_compared():
    for hypotheses, references in ((["a", "b"], ["a"]), (["a"] * 2, [["a", "b"], ["a"]]), ([], [])):
        with pytest.raises(UserError):
            bleu(hypotheses, references)
