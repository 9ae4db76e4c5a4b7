"""Vocabulary files, their order, and what is wrong with a bad one."""

import gzip

import pytest
import tensorflow as tf

from rnnsearch_tf.config import TextConfig
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.text.counting import TokenCounts
from rnnsearch_tf.text.pipeline import Text, build_text, extend_texts
from rnnsearch_tf.text.vocabulary import Vocabulary, batches

SPECIALS = ["<pad>", "</s>", "<unk>"]


def build(lines, size=100):
    counts = TokenCounts(tf.strings.split)
    for batch in batches(lines):
        counts.add(batch)
    return Vocabulary.build(counts.total(), size).tokens


def test_order_is_specials_then_frequency_then_code_point():
    lines = ["b a a", "é b Z", "𝐀 \ufb01 c"]  # U+FB01 before U+1D400, which UTF-16 order would swap
    assert build(lines) == [*SPECIALS, "a", "b", "Z", "c", "é", "\ufb01", "𝐀"]
    assert build(reversed(lines)) == build(lines)


def test_size_counts_the_specials_and_rarer_words_stay_out():
    assert build(["a a a b b c"], size=5) == [*SPECIALS, "a", "b"]


def test_counts_add_up_over_batches():
    lines = ["x y"] * 3000 + ["z"] * 2999
    assert build(lines) == [*SPECIALS, "x", "y", "z"]


def test_words_spelled_like_a_special_token_are_unknown():
    vocabulary = Vocabulary(build(["<pad> </s> <unk> a"]))
    assert vocabulary.tokens == [*SPECIALS, "a"]
    assert vocabulary.ids(tf.constant(["<pad>", "</s>", "<unk>", "a", ""])).numpy().tolist() == [
        2,
        2,
        2,
        3,
        2,
    ]


def test_ids_outside_the_vocabulary_are_unknown():
    words = Vocabulary([*SPECIALS, "a"]).words(tf.constant([[0, 1, 2, 3, 4, -1]])).numpy().tolist()
    assert words == [[b"<pad>", b"</s>", b"<unk>", b"a", b"<unk>", b"<unk>"]]


def test_file_is_one_token_a_line_and_comes_back(tmp_path):
    vocabulary = Vocabulary([*SPECIALS, "été", "a\u2028b", "\u0301"])  # no line ends but \n
    path = tmp_path / "vocabulary.txt"
    vocabulary.save(path)
    assert path.read_bytes() == "<pad>\n</s>\n<unk>\nété\na\u2028b\n\u0301\n".encode()
    assert Vocabulary.load(path).tokens == vocabulary.tokens
    assert Vocabulary.load(path).size == 6


def test_byte_order_mark_and_carriage_returns_are_no_part_of_a_token(tmp_path):
    path = tmp_path / "vocabulary.txt"
    path.write_bytes("\ufeff<pad>\r\n</s>\r\n<unk>\r\na\r\n".encode())
    assert Vocabulary.load(path).tokens == [*SPECIALS, "a"]


@pytest.mark.parametrize("ending", [".txt", ".txt.gz"])
def test_training_text_may_be_plain_or_gzip(tmp_path, ending):
    path = tmp_path / f"train{ending}"
    data = "Le chat dort.\nLe chien dort.\n".encode()
    path.write_bytes(gzip.compress(data) if ending.endswith(".gz") else data)
    text = build_text(TextConfig(language="fr"), path)
    assert text.vocabulary.tokens == [*SPECIALS, ".", "Le", "dort", "chat", "chien"]
    assert (
        build_text(TextConfig(language="fr"), str(path)).vocabulary.tokens == text.vocabulary.tokens
    )


HEAD = "<pad>\n</s>\n<unk>\n"
BAD_FILES = {
    "duplicate": (HEAD + "a\nb\na\n", r":6: expected each token once, got 'a' again after line 4"),
    "repeated special": (
        HEAD + "a\n<unk>\n",
        r":5: expected each token once, got '<unk>' again after line 3",
    ),
    "empty line": (HEAD + "a\n\nb\n", r":5: expected a token, got an empty line"),
    "space": (HEAD + "a 17\n", r":4: expected one token without spaces, got 'a 17'"),
    "missing special": ("<pad>\n<unk>\na\n", r":2: expected the special token </s>, got '<unk>'"),
    "empty file": ("", r":1: expected the special token <pad>, got the end of the file"),
    "only specials": (HEAD, r"expected words after the special tokens, got none"),
    "invalid UTF-8": (
        HEAD.encode() + b"a\nb\xff\n",
        r":5: expected UTF-8, got byte 0xff at column 2",
    ),
}


@pytest.mark.parametrize("content, message", BAD_FILES.values(), ids=BAD_FILES)
def test_bad_vocabulary_files_are_named_by_file_and_line(tmp_path, content, message):
    path = tmp_path / "bad.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UserError, match=message) as caught:
        Vocabulary.load(path)
    assert str(caught.value).startswith(str(path)) and caught.value.exit_code == 1


def test_missing_vocabulary_file():
    with pytest.raises(UserError, match="nowhere.txt: expected a text file, found none"):
        build_text(TextConfig(vocabulary="nowhere.txt"), [])


BAD_TEXTS = {
    "invalid UTF-8": (
        "train.txt",
        b"good\nb\xe9d\n",
        r"train.txt:2: expected UTF-8, got byte 0xe9 at column 2",
    ),
    "empty": ("train.txt", b"", r"train.txt: expected text, got no words"),
    "blank": ("train.txt", b"\n \n", r"train.txt: expected text, got no words"),
    "not gzip": (
        "train.gz",
        b"plain text\n",
        r"train.gz:1: expected gzip data, got: Not a gzipped file",
    ),
    "cut gzip": (
        "train.gz",
        gzip.compress(b"a line\n" * 99)[:-9],
        r"train.gz:\d+: expected more gzip data, the file ends early",
    ),
}


@pytest.mark.parametrize("tokenization", ["moses", "sentencepiece"])
@pytest.mark.parametrize("name, content, message", BAD_TEXTS.values(), ids=BAD_TEXTS)
def test_bad_training_text(tmp_path, tokenization, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        build_text(TextConfig(tokenization=tokenization), tmp_path / name)


@pytest.mark.parametrize("tokenization", ["moses", "sentencepiece"])
def test_missing_or_unreadable_training_text(tmp_path, tokenization):
    config = TextConfig(tokenization=tokenization)
    with pytest.raises(UserError, match="nowhere.gz: expected a text file, found none"):
        build_text(config, tmp_path / "nowhere.gz")
    with pytest.raises(UserError, match="expected a text file, found a folder"):
        build_text(config, tmp_path)


def test_the_size_that_was_asked_for_grows_with_new_words_but_not_beside_a_ready_vocabulary():
    """There it has no effect, and another value than the default would be refused."""
    words = Vocabulary([*SPECIALS, "a"])
    built, ready = (
        TextConfig(tokenization="space", vocabulary_size=4, vocabulary=path)
        for path in (None, "words.txt")
    )
    texts = extend_texts(
        [Text(config, words) for config in (built, ready)], [("b c", "b c")], number=2
    )
    assert [text.vocabulary.size for text in texts] == [6, 6]
    assert [text.config.vocabulary_size for text in texts] == [6, 4]
