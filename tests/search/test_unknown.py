"""Replacing unknown words through the alignment."""

import numpy as np
import tensorflow as tf

from rnnsearch_tf.search.unknown import replace_unknown


def plain(tokens, alignments, source_tokens):
    replaced = []
    for row, words in enumerate(tokens):
        source = source_tokens[row]
        best = [
            source[int(np.argmax(alignments[row, i, : len(source)]))] if source else w
            for i, w in enumerate(words)
        ]
        replaced.append([best[i] if w == "<unk>" else w for i, w in enumerate(words)])
    return replaced


def test_replacement_is_that_of_plain_lists():
    tokens = [["<unk>", "x", "<unk>"], [], ["<unk>"], ["x", "<unk>", "y", "<unk>"], ["<unk>"]]
    source = [["a", "b"], ["c"], ["b", "c", "a"], ["c"], []]
    alignments = np.random.default_rng(0).random((5, 6, 5)).astype(np.float32)
    alignments[:, :, -1] = 9.0  # padding and end symbol must not win
    for row, words in enumerate(source):
        alignments[row, :, len(words)] = 5.0

    def ragged(rows):
        return tf.ragged.constant(rows, tf.string)

    replace = tf.function(replace_unknown, autograph=False)
    found = replace(ragged(tokens), tf.constant(alignments), ragged(source))
    expected = plain(tokens, alignments, source)
    assert [[word.decode() for word in row] for row in found.to_list()] == expected
    assert expected[4] == ["<unk>"]
