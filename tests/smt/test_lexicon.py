"""A lexicon out of links, against counting by hand, and as replacing unknown words reads it."""

import collections
import random

import tensorflow as tf

from rnnsearch_tf.data.phrasebook import phrasebook_alignments, phrasebook_tokens
from rnnsearch_tf.search.unknown import Lexicon
from rnnsearch_tf.alignment.lexicon import lexicon


def test_each_word_has_what_it_is_linked_to_most_often():
    generator = random.Random(1)
    sentences = []
    seen = collections.defaultdict(list)
    for _ in range(200):
        source, target = [
            [generator.choice(words) for _ in range(generator.randint(1, 6))]
            for words in ("abcdef", "uvwxyz")
        ]
        links = [
            (generator.randrange(len(source)), generator.randrange(len(target))) for _ in range(4)
        ]
        sentences.append((links, source, target))
        for j, i in links:
            seen[source[j]].append(target[i])
    expected = {
        word: min(set(others), key=lambda other: (-others.count(other), other))
        for word, others in seen.items()
    }
    assert lexicon(sentences) == expected
    rare = {
        word: [other for other in others if others.count(other) >= 25]
        for word, others in seen.items()
    }
    assert lexicon(sentences, minimum_count=25) == {
        word: expected[word] for word, others in rare.items() if others
    }


def test_of_words_linked_as_often_the_first_in_the_alphabet_is_taken():
    """Whichever of them comes first in the text; a word linked exactly as often as asked counts."""
    pairs = [([(0, 0)], ["a"], [target]) for target in ("v", "u", "w", "u", "w", "v")]
    assert lexicon(pairs) == lexicon(pairs[::-1]) == {"a": "u"}
    assert lexicon(pairs, minimum_count=3) == {}


def test_a_lexicon_of_the_grammars_links_can_be_read(tmp_path):
    drawn = 300, 1, "train"
    found = lexicon(zip(phrasebook_alignments(*drawn), *phrasebook_tokens(*drawn)))
    (tmp_path / "lexicon").write_text(
        "".join(f"{source} {target}\n" for source, target in found.items()), encoding="utf-8"
    )
    words = (
        Lexicon.load(tmp_path / "lexicon")
        .lookup(tf.constant(["apple", "church", "nowhere"]))
        .numpy()
        .tolist()
    )
    assert words == [word.encode() for word in ("pomme", "église", "nowhere")]
