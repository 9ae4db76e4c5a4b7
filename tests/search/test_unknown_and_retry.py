"""Replacing unknown words through the alignment, and searching again what did not finish."""

import gzip

import numpy as np
import pytest
import search_reference as reference
import tensorflow as tf
from search_toy import Toy

from rnnsearch_tf.config import SearchConfig
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.search.beam import BeamResult, beam_search
from rnnsearch_tf.search.retry import search_until_finished, wider
from rnnsearch_tf.search.unknown import Lexicon, replace_unknown


def plain(tokens, alignments, source_tokens, lexicon):
    replaced = []
    for row, words in enumerate(tokens):
        source = source_tokens[row]
        best = [
            source[int(np.argmax(alignments[row, i, : len(source)]))] if source else w
            for i, w in enumerate(words)
        ]
        replaced.append(
            [lexicon.get(best[i], best[i]) if w == "<unk>" else w for i, w in enumerate(words)]
        )
    return replaced


@pytest.mark.parametrize("lexicon", [None, {"a": "A", "c": "ç"}])
def test_replacement_is_that_of_plain_lists(lexicon):
    tokens = [["<unk>", "x", "<unk>"], [], ["<unk>"], ["x", "<unk>", "y", "<unk>"], ["<unk>"]]
    source = [["a", "b"], ["c"], ["b", "c", "a"], ["c"], []]
    alignments = np.random.default_rng(0).random((5, 6, 5)).astype(np.float32)
    alignments[:, :, -1] = 9.0  # padding and end symbol must not win
    for row, words in enumerate(source):
        alignments[row, :, len(words)] = 5.0

    @tf.function(autograph=False)
    def replace(tokens, alignments, source):
        return replace_unknown(tokens, alignments, source, table)

    table = Lexicon(lexicon) if lexicon else None

    def ragged(rows):
        return tf.ragged.constant(rows, tf.string)

    found = replace(ragged(tokens), tf.constant(alignments), ragged(source))
    expected = plain(tokens, alignments, source, lexicon or {})
    assert [[word.decode() for word in row] for row in found.to_list()] == expected
    assert expected[4] == ["<unk>"]


@pytest.mark.parametrize("name", ["lexicon.txt", "lexicon.txt.gz"])
def test_lexicon_file(tmp_path, name):
    data = "Haus maison\n\nKind enfant\r\nHaus maison\n".encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    words = Lexicon.load(tmp_path / name).lookup(tf.constant([["Kind", "Haus"], ["maison", ""]]))
    assert words.numpy().tolist() == [[b"enfant", b"maison"], [b"maison", b""]]


@pytest.mark.parametrize(
    "data, message",
    [
        (b"a b\nc\n", ":2: expected `source-word target-word`, got 1 words: 'c'"),
        (b"a b\nc d e\n", ":2: expected `source-word target-word`, got 3 words: 'c d e'"),
        (b"a b\nc d\na e\n", ":3: expected one translation of 'a', got 'e' after 'b' in line 1"),
        (b"a b\n\xff c\n", ":2: expected UTF-8, got byte 0xff at column 1"),
    ],
)
def test_a_bad_lexicon_line_is_named(tmp_path, data, message):
    path = tmp_path / "lexicon.txt"
    path.write_bytes(data)
    with pytest.raises(UserError) as error:
        Lexicon.load(path)
    assert str(error.value).startswith(f"{path}{message}")


def test_a_missing_or_broken_lexicon_is_named(tmp_path):
    with pytest.raises(UserError, match="missing.txt: expected a text file, found none"):
        Lexicon.load(tmp_path / "missing.txt")
    (tmp_path / "broken.gz").write_bytes(b"not compressed")
    with pytest.raises(UserError, match="broken.gz:1: expected gzip data"):
        Lexicon.load(tmp_path / "broken.gz")


def test_an_empty_lexicon_changes_nothing(tmp_path):
    (tmp_path / "empty.txt").write_bytes(b"")
    assert Lexicon.load(tmp_path / "empty.txt").lookup(tf.constant(["a"])).numpy().tolist() == [
        b"a"
    ]


def test_wider_searches_come_in_the_authors_order():
    config = SearchConfig(beam_size=12, allow_unknown=False)
    tried = []
    while config := wider(config):
        tried.append((config.allow_unknown, config.beam_size))
    assert tried == [
        (True, 12),
        (True, 24),
        (True, 48),
        (True, 96),
        (True, 192),
        (True, 384),
        (True, 500),
    ]


def test_a_sentence_with_a_finished_translation_is_not_searched_again():
    """Whatever the rest of its list is: empty places count as unfinished."""
    asked = []

    def search(rows, config):
        asked.append(rows.tolist())
        finished = np.array([[True, False], [False, False], [True, True]])[rows]
        finished[:, 0] |= len(asked) > 1
        empty = np.zeros([len(rows), 2], np.int32)
        return BeamResult(
            empty[..., np.newaxis],
            empty,
            empty,
            empty,
            empty[..., np.newaxis, np.newaxis],
            finished,
        )

    config = SearchConfig(beam_size=2, nbest=2, shrinking_beam=True)
    assert search_until_finished(search, config, 3).finished[:, 0].all()
    assert asked == [[0, 1, 2], [1]]


@pytest.mark.parametrize("largest_beam", [2, 40])
def test_unfinished_sentences_are_searched_again(largest_beam, monkeypatch):
    monkeypatch.setattr("rnnsearch_tf.search.retry.LARGEST_BEAM", largest_beam)
    toy = Toy(seed=12, vocabulary_size=7, source_lengths=(3, 2, 4, 3, 2, 4))
    config = SearchConfig(
        beam_size=1,
        shrinking_beam=True,
        allow_unknown=False,
        maximum_length_ratio=1.0,
        length_penalty=0.0,
    )
    calls = []

    def search(rows, config):
        calls.append((rows.tolist(), config.allow_unknown, config.beam_size))
        state, memory, lengths = toy.start(rows)
        return tf.nest.map_structure(
            np.asarray, beam_search(state, memory, toy.step, lengths, config)
        )

    result = search_until_finished(search, config, 6)
    assert calls[0] == ([0, 1, 2, 3, 4, 5], False, 1) and len(calls) > 2
    if largest_beam == 40:
        assert result.finished.all()
    for sentence in range(6):
        last = config
        while not (expected := reference.beam(toy, sentence, last))[0].finished and wider(last):
            last = wider(last)
        length = result.lengths[sentence, 0]
        assert result.ids[sentence, 0, :length].tolist() == expected[0].words
        assert (
            not result.ids[sentence, 0, length:].any()
            and not result.alignments[sentence, 0, length:].any()
        )
        assert result.finished[sentence, 0] == expected[0].finished
        _, alignments = toy.follow(sentence, expected[0].words)
        here = result.alignments[sentence, 0, :length, : toy.source_lengths[sentence]]
        np.testing.assert_allclose(here, alignments, atol=1e-6)


def test_a_lexicon_in_another_normal_form_has_the_same_words(tmp_path):
    path = tmp_path / "lexicon"
    path.write_text("e\u0301te\u0301 su\u0308mmer\n", encoding="utf-8")
    for forms, word, expected in (
        ((), "été", "sümmer"),
        (("NFC", "none"), "été", "su\u0308mmer"),
        (("none", "NFC"), "e\u0301te\u0301", "sümmer"),
    ):
        assert (
            Lexicon.load(path, *forms).lookup(tf.constant([word])).numpy()[0].decode() == expected
        )


def test_words_of_a_lexicon_are_lower_cased_as_the_source_text_is(tmp_path):
    path = tmp_path / "lexicon"
    path.write_text("Île Insel\n", encoding="utf-8")
    for lowercase, word in ((False, "Île"), (True, "île")):
        lexicon = Lexicon.load(path, lowercase=lowercase)
        assert lexicon.lookup(tf.constant(["Île", "île"])).numpy().tolist().count(b"Insel") == 1
        assert lexicon.lookup(tf.constant([word])).numpy().tolist() == [b"Insel"]
