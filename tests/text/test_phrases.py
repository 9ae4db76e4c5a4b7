"""Phrases as ids, against plain lists; the joints of subwords."""

import itertools

import pytest
import tensorflow as tf
from test_subwords import LINES, config

from rnnsearch_tf.config import TextConfig
from rnnsearch_tf.text.phrases import MOST_BYTES, MOST_TOKENS, read_phrases, word_joints
from rnnsearch_tf.text.pipeline import build_text

ROWS = [
    ["le chat", "L'homme dort."],
    [],
    ["  ", "chat ☃ Zoé", "Zoé"],
    ["dort"],
    ["très vieille femme chez son ami"],
]


@pytest.mark.parametrize("tokenization", ["moses", "sentencepiece"])
def test_ids_are_those_of_the_tokens_in_their_order(tokenization):
    text = build_text(
        config() if tokenization == "sentencepiece" else TextConfig(language="fr"), LINES
    )
    phrases = read_phrases(text, tf.constant(["\t".join(row) for row in ROWS]))
    table = phrases.ids.numpy()
    known = {token: k for k, token in enumerate(text.vocabulary.tokens)}
    assert phrases.fits.numpy().all() and table.shape[0] == len(ROWS)
    for row, ids, words in zip(ROWS, table, phrases.tokens.numpy()):
        expected = [
            [t.decode() for t in text.tokenize([phrase]).to_list()[0]]
            for phrase in row
            if phrase.strip()
        ]
        found = [[k for k in phrase if k] for phrase in ids.tolist() if any(phrase)]
        all_tokens = [*text.vocabulary.tokens, *(word.decode() for word in words)]
        spelled = [[all_tokens[k] for k in phrase] for phrase in found]
        assert spelled == expected
        for tokens, phrase in zip(expected, found):
            assert all(
                (k < text.vocabulary.size) == (token in known) for token, k in zip(tokens, phrase)
            )
        ids_of = {}
        for token, k in zip(itertools.chain(*expected), itertools.chain(*found)):
            assert ids_of.setdefault(token, k) == k, "one word, one id"
    assert table.any(axis=(0, 2)).all() and table.any(axis=(0, 1)).all(), (
        "no padding that no row needs"
    )


def test_a_phrase_is_cased_as_in_the_middle_of_a_sentence(tmp_path):
    """Its first word too keeps a casing that the model knows; after a period a sentence begins."""
    model = tmp_path / "truecase"
    model.write_text("the (90/100) The (10)\napple (5/9) Apple (4)\nParis (3/3)\n")
    text = build_text(TextConfig(language="en", truecase=str(model)), ["the apple"])
    phrases = ["The Hague", "Apple", "PARIS", "( The end", "the end . The"]
    found = read_phrases(text, tf.constant(["\t".join(phrases), "The"])).tokens.numpy()
    expected = "The Hague Apple Paris ( The end the end . the"
    assert b" ".join(found[0]).decode() == expected
    assert found[1, 0] == b"The"
    assert text.tokenize(["The Apple"]).to_list() == [[b"the", b"Apple"]]


def test_no_phrases_have_one_empty_place():
    text = build_text(TextConfig(language="fr"), LINES)
    for lines in ([], [""], ["", " \t "]):
        phrases = read_phrases(text, tf.constant(lines, tf.string))
        assert phrases.ids.shape == (len(lines), 1, 1) and not phrases.ids.numpy().any()


def test_phrases_beyond_the_most_are_left_out():
    text = build_text(TextConfig(language="fr"), LINES)
    long = " ".join(["chat"] * (MOST_TOKENS - 1))
    lines = [f"{long}\tdort", f"{long}\tla rue\tdort", f"{long} chat chat", "chat " * 10_000]
    phrases = read_phrases(text, tf.constant(lines))
    assert phrases.fits.numpy().tolist() == [True, False, False, False]
    assert (phrases.ids.numpy() > 0).sum(axis=(1, 2)).tolist() == [
        MOST_TOKENS,
        MOST_TOKENS - 1,
        0,
        0,
    ]


def test_a_phrase_of_a_script_without_spaces_begins_without_one():
    """Pieces of the text: ▁猫 with and without its space, ▁ alone, ▁黒い猫 only with its space."""
    lines = ["猫がいる", "黒い猫 abc", "犬がいる ab", "黒い犬がいる"] * 5 + [
        "猫",
        "猫 猫",
        "犬の猫",
    ] * 9
    japanese = build_text(config(language="ja", vocabulary_size=20), lines)
    assert {"▁猫", "猫", "▁", "▁黒い猫"} <= {*japanese.vocabulary.tokens}
    assert "▁黒い猫" in japanese.vocabulary.tokens and "黒い猫" not in japanese.vocabulary.tokens
    found = read_phrases(japanese, tf.constant(["猫\t猫がいる\tabc\t abc 猫\t黒い猫"]))
    spelled = [*japanese.vocabulary.tokens, *(token.decode() for token in found.tokens[0].numpy())]
    phrases = ["".join(spelled[k] for k in phrase if k) for phrase in found.ids[0].numpy()]
    assert phrases == ["猫", "猫がいる", "▁abc", "▁abc▁猫", "▁黒い猫"]
    assert japanese.tokenize(tf.constant(["の猫"])).to_list()[0][0].decode() == "▁"
    [[alone]] = read_phrases(japanese, tf.constant(["の猫"])).ids.numpy()
    assert japanese.vocabulary.tokens[alone[0]] != "▁"
    assert read_phrases(japanese, tf.constant([""])).ids.shape == (1, 1, 1)


@pytest.mark.parametrize(
    "language, lines, phrase, pieces, joints",
    [
        # Thai has no spaces: a phrase may stand anywhere
        ("th", ["แมวดำ", "ดำแมว", "กินแมวดำ", "แมว ดำ"], "แมว", "แมว", {"แ": False}),
        # Korean has: a phrase begins a word, and a syllable continues one
        ("ko", ["사과 하나", "풋사과 둘", "사과 둘", "풋 사과"], "사과", "▁사과", {"과": True}),
        ("ko", ["猫 하나", "하나 猫"], "猫", "猫", {"猫": False}),
    ],
)
def test_spaces_are_those_of_the_language(language, lines, phrase, pieces, joints):
    text = build_text(config(language=language, vocabulary_size=24), lines * 9)
    found = read_phrases(text, tf.constant([phrase]))
    spelled = [*text.vocabulary.tokens, *(token.decode() for token in found.tokens[0].numpy())]
    assert "".join(spelled[k] for k in found.ids[0, 0].numpy() if k) == pieces
    begins = dict(zip(text.vocabulary.tokens, word_joints(text)[0].numpy()))
    assert {token: begins[token] for token in joints} == joints


def test_joints_are_those_of_letters():
    text = build_text(config(), LINES)
    begins, ends = (dict(zip(text.vocabulary.tokens, table.numpy())) for table in word_joints(text))
    assert not any(begins[special] or ends[special] for special in ("<pad>", "</s>", "<unk>"))
    assert begins["a"] and ends["a"] and not begins["."] and not ends["'"]
    assert all(not begins[token] for token in begins if token.startswith("▁"))
    japanese = build_text(
        config(language="ja", vocabulary_size=20), ["猫がいる", "黒い猫 abc", "犬がいる ab"] * 5
    )
    joints = dict(zip(japanese.vocabulary.tokens, word_joints(japanese)[0].numpy()))
    assert joints["a"] and not joints["が"] and not joints["猫"]
    words = build_text(TextConfig(language="fr"), LINES)
    assert not any(table.numpy().any() for table in word_joints(words))


def test_what_is_compared_is_what_may_stay():
    """One row with many phrases and a long one: no row holds more than it may keep, whatever the
    others have.
    """
    text = build_text(TextConfig(language="fr"), LINES)
    words = " ".join(["le", "chat"] * (MOST_TOKENS // 2))
    lines = [
        "\t".join(["a"] * MOST_TOKENS + ["a " * (MOST_TOKENS + 1)]),
        words,
        f"☃\t{words[:-5]}",
        "",
    ]
    phrases = read_phrases(text, tf.constant(lines))
    assert phrases.tokens.shape[1] <= MOST_TOKENS
    assert phrases.fits.numpy().tolist() == [False, True, True, True]
    assert (phrases.ids.numpy() > 0).sum(axis=(1, 2)).tolist() == [
        MOST_TOKENS,
        MOST_TOKENS,
        MOST_TOKENS,
        0,
    ]
    assert phrases.ids[2, 0, 0] == text.vocabulary.size and phrases.tokens[2, 0] == "☃".encode()


@pytest.mark.parametrize(
    "line", ["\t" * 100_000, "a" * 100_000, "chat\t" * 20_000, "e" + "\u0301\u0323" * 50_000]
)
def test_a_line_of_more_bytes_than_any_phrases_need_is_not_read(line):
    """Neither split nor normalized: both would take far more than the line."""
    text = build_text(TextConfig(language="fr"), LINES)
    phrases = read_phrases(text, tf.constant([line, "chat"]))
    assert phrases.fits.numpy().tolist() == [False, True]
    assert phrases.ids.shape == (2, 1, 1) and phrases.ids[0, 0, 0] == 0 and phrases.ids[1, 0, 0] > 0
    at_the_limit = read_phrases(
        text, tf.constant(["chat\t".ljust(MOST_BYTES), "chat\t".ljust(MOST_BYTES + 1)])
    )
    assert at_the_limit.fits.numpy().tolist() == [True, False]
