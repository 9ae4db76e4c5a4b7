"""The built-in corpus: its parts, its tokens, its gold alignments."""

import pytest
import tensorflow as tf

from rnnsearch_tf.data.phrasebook import PARTS, _rows, phrasebook, phrasebook_alignments
from rnnsearch_tf.text.moses import tokenize


def test_the_parts_share_no_sentence():
    sources = [phrasebook(size, part)[0] for part, size in PARTS.items()]
    assert [len(set(side)) for side in sources] == [40_000, 500, 500]
    assert len(set().union(*sources)) == 41_000


@pytest.mark.parametrize("part", PARTS)
def test_links_are_of_the_moses_tokens(part):
    tokens = [[row[side].split(" ") for row in _rows(500, part)] for side in (0, 1)]
    for language, lines, side in zip(("en", "fr"), phrasebook(500, part), tokens):
        found = tokenize(tf.constant(lines), language).to_list()
        assert [[word.decode() for word in line] for line in found] == side
    for source, target, links in zip(*tokens, phrasebook_alignments(500, part), strict=True):
        assert links and list(links) == sorted(set(links))
        assert all(0 <= j < len(source) and 0 <= i < len(target) for j, i in links)
