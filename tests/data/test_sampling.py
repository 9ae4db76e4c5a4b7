"""Subword regularization: what is drawn, how often, and that an epoch can be had again."""

import collections

import numpy as np
import pytest
import sentencepiece

from rnnsearch_tf.config import END_ID, load_config
from rnnsearch_tf.data.dataset import scoring_batches, training_dataset
from rnnsearch_tf.data.pairs import Pairs
from rnnsearch_tf.data.phrasebook import phrasebook
from rnnsearch_tf.text.pipeline import build_text
from rnnsearch_tf.text.sampling import SubwordSampler


@pytest.fixture(scope="module")
def lines():
    return phrasebook(300, 1, "train")


def texts(lines, **options):
    return [
        build_text(config_of(side, **options), part)
        for side, part in zip(("source", "target"), lines)
    ]


def config_of(side, **options):
    return getattr(
        load_config(
            values={side: dict(tokenization="sentencepiece", vocabulary_size=150, **options)}
        ),
        side,
    )


@pytest.fixture(scope="module")
def model(lines):
    return texts(lines)[1].subword_model


def test_a_sharp_distribution_is_the_likeliest(lines, model):
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    sampler = SubwordSampler(model, 1000.0)
    for line in lines[1][:100]:
        assert sampler.encode(line, np.random.default_rng(0)).tolist() == [
            *processor.encode(line),
            END_ID,
        ]


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_frequencies_are_the_formulas(model, alpha):
    """P(x) ∝ p(x)^α over all segmentations, found by brute force from the pieces'
    log-probabilities.
    """
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    pieces = {
        processor.id_to_piece(k): processor.get_score(k)
        for k in range(3, processor.get_piece_size())
    }

    def segmentations(rest):
        if not rest:
            return [()]
        return [
            (rest[:k], *more)
            for k in range(1, len(rest) + 1)
            if rest[:k] in pieces
            for more in segmentations(rest[k:])
        ]

    word = next(
        w
        for w in ("les", "rit", "chat", "est", "une", "il")
        if 3 <= len(segmentations("▁" + w)) <= 16
    )
    found = segmentations("▁" + word)
    weights = np.exp([alpha * sum(pieces[piece] for piece in one) for one in found])
    draws = 4000
    sampler = SubwordSampler(model, alpha)
    generator = np.random.default_rng(5)
    count = collections.Counter(
        tuple(sampler.encode(word, generator).tolist()) for _ in range(draws)
    )
    for one, chance in zip(found, weights / weights.sum()):
        share = count[(*(processor.piece_to_id(piece) for piece in one), END_ID)] / draws
        assert abs(share - chance) < 5 * np.sqrt(chance * (1 - chance) / draws) + 1e-9
    assert sum(count.values()) == draws and len(count) <= len(found)


def epochs(sides, lines, data, seed=3, count=2):
    dataset = training_dataset(*sides, Pairs(*lines), data, seed)
    return [
        [row.tolist() for batch in dataset.as_numpy_iterator() for row in batch["target_ids"]]
        for _ in range(count)
    ]


@pytest.mark.parametrize("buffer", [50, pytest.param(5000, marks=pytest.mark.slow)])
def test_every_epoch_has_other_pieces_of_the_same_sentences(lines, buffer):
    data = load_config(
        values={"data": dict(batching="unsorted", batch_size=16, shuffle_buffer=buffer)}
    ).data
    sides = texts(lines, sampling=0.3)
    first, second = epochs(sides, lines, data)
    for epoch in (first, second):
        assert sorted(
            sides[1].decode(row).numpy()[0] for row in map(lambda ids: [ids], epoch)
        ) == sorted(t.encode() for t in lines[1])

    def without_padding(epoch):
        return sorted([token for token in row if token] for row in epoch)

    assert without_padding(first) != without_padding(second)
    assert [first, second] == epochs(sides, lines, data)
    assert [first, second] != epochs(sides, lines, data, seed=4)


def test_one_side_alone_and_never_the_development_text(lines):
    data = load_config(
        values={"data": dict(batching="unsorted", batch_size=16, shuffle_buffer=0)}
    ).data
    source = texts(lines)[0]
    target = texts(lines, sampling=0.0)[1]
    plain = {tuple(row) for row in source.encode(lines[0]).to_list()}
    [batches] = [list(training_dataset(source, target, Pairs(*lines), data, 1).as_numpy_iterator())]
    assert {
        tuple(int(i) for i in row if i) for batch in batches for row in batch["source_ids"]
    } == plain
    best = {tuple(row) for row in target.encode(lines[1]).to_list()}
    assert (
        len(
            {tuple(int(i) for i in row if i) for batch in batches for row in batch["target_ids"]}
            - best
        )
        > 100
    )
    batches = scoring_batches(source, target, lines, data.batch_size)
    assert {
        tuple(int(i) for i in row if i) for batch in batches for row in batch["target_ids"]
    } == best


def test_words_of_a_sentence_are_drawn_independently(model):
    """Twice the same word: both are cut alike as often as the chances of the ways to cut it say."""
    sampler = SubwordSampler(model, 0.3)
    generator = np.random.default_rng(2)
    draws = 3000
    word = next(
        w
        for w in ("les", "rit", "chat", "est", "une", "il")
        if len({tuple(sampler.encode(w, generator)) for _ in range(50)}) > 2
    )
    once = collections.Counter(
        tuple(sampler.encode(word, generator).tolist()) for _ in range(draws)
    )
    alike = sum((count / draws) ** 2 for count in once.values())
    assert alike < 0.8
    rows = [sampler.encode(f"{word} {word}", generator)[:-1].tolist() for _ in range(draws)]
    same = sum(row[: len(row) // 2] == row[len(row) // 2 :] for row in rows) / draws
    assert abs(same - alike) < 5 * np.sqrt(2 * alike * (1 - alike) / draws)
