"""Samples follow the model's distribution and their seeds."""

import collections
import functools
import math

import numpy as np
import pytest
import search_reference as reference
import tensorflow as tf
from search_toy import END, UNKNOWN, Toy

from rnnsearch_tf.config import SearchConfig
from rnnsearch_tf.search.graphs import IDS
from rnnsearch_tf.search.sampling import sample


@functools.cache
def sampler(toy, config, **options):
    """`sample`, traced once."""
    return tf.function(
        lambda *tensors: sample(toy, *tensors, config, **options),
        autograph=False,
        input_signature=[IDS, tf.TensorSpec([None], tf.int64)],
    )


def draw(toy, seeds, config=SearchConfig(), sentences=None, **options):
    run = sampler(toy, config, **options)
    result = run(toy.source_ids(sentences), tf.constant(seeds, tf.int64))
    return type(result)(*(x.numpy() for x in result))


def outputs(samples):
    return [tuple(ids[ids != 0].tolist()) for ids in samples.ids]


def distribution(toy, temperature, config):
    """Probability of every output of the first sentence: the masked, tempered steps multiplied."""
    minimum, maximum = reference.limits(int(toy.source_lengths[0]), config)
    found = {}
    open_ends = [((), 1.0, toy.first(0))]
    for time in range(maximum):
        longer = []
        for words, probability, state in open_ends:
            log_probabilities, _, after = toy.next(0, words[-1] if words else 0, state)
            allowed = reference.words_allowed(toy, config) + ([END] if time >= minimum else [])
            weights = {word: math.exp(log_probabilities[word] / temperature) for word in allowed}
            for word, weight in weights.items():
                longer.append(((*words, word), probability * weight / sum(weights.values()), after))
        found.update(
            {words: p for words, p, _ in longer if words[-1] == END or time + 1 == maximum}
        )
        open_ends = [entry for entry in longer if entry[0][-1] != END]
    return found


@pytest.mark.parametrize(
    "temperature, options",
    [(1.0, {}), (2.0, {}), (0.5, dict(allow_unknown=False)), (1.0, dict(minimum_length_ratio=0.5))],
)
def test_frequencies_are_probabilities(temperature, options, no_room):
    toy = Toy(seed=3, source_lengths=[3], spread=0.7)
    config = SearchConfig(maximum_length_ratio=1.0, **options)
    count = 4000
    samples = draw(toy, np.arange(count), config, sentences=[0] * count, temperature=temperature)
    expected = distribution(toy, temperature, config)
    assert abs(sum(expected.values()) - 1) < 1e-9
    counts = collections.Counter(outputs(samples))
    assert set(counts) <= set(expected)
    chi_square = sum((counts[key] - count * p) ** 2 / (count * p) for key, p in expected.items())
    freedom = len(expected) - 1
    # Chi-square has mean f and variance 2f; the seeds are fixed, so this never flickers.
    assert abs(chi_square - freedom) < 3 * math.sqrt(2 * freedom)


def test_log_probabilities_are_the_models_own(no_room):
    toy = Toy(seed=4, vocabulary_size=8, source_lengths=(4, 2, 6))
    config = SearchConfig(maximum_length_ratio=2.0)
    samples = draw(toy, [5, 6, 7], config, temperature=3.0)
    for sentence, words in enumerate(outputs(samples)):
        expected, _ = toy.follow(sentence, words)
        np.testing.assert_allclose(samples.log_probabilities[sentence], expected.sum(), atol=3e-6)
        assert END not in words[:-1] and len(words) <= 2 * toy.source_lengths[sentence]


def test_a_seed_gives_its_sample_alone_or_in_any_batch():
    toy = Toy(seed=4, vocabulary_size=8, source_lengths=(4, 2, 9, 4))
    seeds = [11, -12, 2**62, 11]
    together = draw(toy, seeds)
    assert outputs(together) == outputs(draw(toy, seeds))
    assert outputs(together) != outputs(draw(toy, [1, 2, 3, 4]))
    for sentence, seed in enumerate(seeds):
        assert outputs(draw(toy, [seed], sentences=[sentence])) == [outputs(together)[sentence]]


def test_a_low_temperature_is_greedy_and_limits_hold(no_room):
    toy = Toy(seed=8, vocabulary_size=8, source_lengths=(4, 2, 5))
    config = SearchConfig(allow_unknown=False, minimum_length_ratio=1.0, maximum_length_ratio=2.0)
    cold = draw(toy, [1, 2, 3], config, temperature=1e-4)
    colder = draw(toy, [1, 2, 3], config, temperature=1e-300)  # 0 in float32
    np.testing.assert_array_equal(colder.ids, cold.ids)
    assert outputs(cold) == [
        tuple(reference.greedy(toy, sentence, config)[0]) for sentence in range(3)
    ]
    assert UNKNOWN not in cold.ids
    short = draw(
        toy,
        [1, 2, 3],
        SearchConfig(minimum_length_ratio=0.5, maximum_length_ratio=0.5),
    )
    assert [len(words) for words in outputs(short)] == [2, 1, 2] and END not in short.ids
