"""Pharaoh links against plain loops."""

import numpy as np

from rnnsearch_tf.alignment.links import links, word_alignment, word_shares
from rnnsearch_tf.alignment.pharaoh import as_pharaoh


def test_each_target_word_is_linked_to_its_largest_weight():
    alignment = np.random.default_rng(1).dirichlet(np.ones(6), size=5)  # [I, J], ends last
    expected = []
    for i in range(4):
        weights = [alignment[i, j] for j in range(5)]
        expected.append((weights.index(max(weights)), i))
    assert links(alignment) == sorted(expected)
    assert as_pharaoh(links(alignment)) == " ".join(f"{j}-{i}" for j, i in sorted(expected))


def test_the_end_symbols_are_left_out_even_where_they_have_the_most_attention():
    alignment = np.array([[0.1, 0.2, 0.7], [0.3, 0.1, 0.6], [0.0, 0.1, 0.9]])
    assert links(alignment) == [(0, 1), (1, 0)]


def test_a_side_without_words_has_no_links():
    assert links(np.ones((1, 4)) / 4) == []
    assert links(np.ones((3, 1))) == []
    assert links(np.zeros((0, 0))) == []


def test_a_word_has_the_attention_of_its_pieces():
    """Summed over the source, averaged over the target, character by character."""
    source, target = ["▁re", "d", "▁a▁c", "at"], ["▁ch", "at", "▁", "rouge"]
    alignment = np.random.default_rng(2).dirichlet(np.ones(5), size=5)
    found = word_alignment(alignment, word_shares(source), word_shares(target))
    # source words: red, a, cat; the piece "▁a▁c" is half of each; target words: chat, rouge
    by_source = np.stack(
        [
            alignment[:, 0] + alignment[:, 1],
            alignment[:, 2] / 2,
            alignment[:, 2] / 2 + alignment[:, 3],
            alignment[:, 4],
        ],
        axis=1,
    )
    expected = [by_source[:2].mean(axis=0), by_source[2:4].mean(axis=0), by_source[4]]
    np.testing.assert_allclose(found, expected)
