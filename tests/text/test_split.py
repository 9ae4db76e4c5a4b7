"""Lines that are Moses tokens already, as in phrase tables and n-best lists."""

import random

import pytest
import tensorflow as tf

from rnnsearch_tf.config import TextConfig
from rnnsearch_tf.text.escapes import joined_words, unescape_bytes
from rnnsearch_tf.text.moses import unescape
from rnnsearch_tf.text.pipeline import Text, build_text
from rnnsearch_tf.text.vocabulary import Vocabulary


def words(text, line):
    return [token.decode() for token in text.split([line]).to_list()[0]]


def moses(**options):
    return Text(
        TextConfig(language="fr", **options), Vocabulary(["<pad>", "</s>", "<unk>", "l'", "a"])
    )


def test_tokens_stay_as_they_were_cut():
    for line in ("l' homme", "M .", "( , ainsi que", "a.b c", "à la fin de l'"):
        assert words(moses(), line) == line.split()
    assert [token.decode() for token in moses().tokenize(["M ."]).to_list()[0]] == ["M", "."]


def test_escapes_are_undone():
    assert (
        words(moses(), "l&apos; &quot; a &amp; b &#124; &#91; x &#93; &lt; &gt;")
        == "l' \" a & b | [ x ] < >".split()
    )
    assert words(moses(), "Jean @-@ Paul") == ["Jean-Paul"]


@pytest.mark.parametrize("escape", [True, False])
@pytest.mark.parametrize("split_hyphens", [True, False])
def test_a_model_keeps_the_escapes_that_its_own_tokens_have(escape, split_hyphens):
    text = moses(escape=escape, split_hyphens=split_hyphens)
    [tokens] = text.tokenize(["l'homme bien-être | a"]).to_list()
    assert words(text, "l&apos; homme bien @-@ être &#124; a") == [t.decode() for t in tokens]


def test_a_model_of_escaped_tokens_reads_tokens_without_escapes():
    for line in ("l' homme | R&D &", "l&apos; homme &#124; R&amp;D &amp;"):
        assert words(moses(escape=True), line) == "l&apos; homme &#124; R&amp;D &amp;".split()
    assert words(moses(escape=True, unicode_form="NFKC"), "＜ a") == ["&lt;", "a"]


def test_a_vocabulary_of_escaped_words_reads_escaped_words():
    """Trained on tokens with escapes, by ``tokenization: space``, a model knows them so."""
    special = ["<pad>", "</s>", "<unk>"]
    for own, expected in (
        (["l&apos;", "@-@"], "l&apos; bien @-@ être"),
        (["l'", "bien-être"], "l' bien-être"),
        (["l'", "@-@"], "l' bien @-@ être"),  # -a -no-escape
        (["l&apos;", "bien-être"], "l&apos; bien-être"),
        (["l'", "d'", "R&amp;D"], "l' bien-être"),  # an escape of the text itself
        (["l&apos;", "&quot;", "<2fr>"], "l&apos; bien-être"),
    ):
        text = Text(TextConfig(language="fr", tokenization="space"), Vocabulary([*special, *own]))
        assert words(text, "l&apos; bien @-@ être") == expected.split()


@pytest.mark.parametrize("tokenization", ["moses", "space"])
def test_an_unknown_word_that_a_model_wrote_is_one_token(tokenization):
    text = moses(tokenization=tokenization)
    tokens = text.tokenize_translations(["a <unk> <unk> .", "<unk>", "", "a < b > c"])
    assert [[token.decode() for token in row] for row in tokens.to_list()] == [
        ["a", "<unk>", "<unk>", "."],
        ["<unk>"],
        [],
        "a < b > c".split(),
    ]
    assert text.ids(tokens).to_list()[:2] == [[4, 2, 2, 2, 1], [2, 1]]


def test_tokens_that_a_hyphen_makes_one_word():
    """As many words as are left once the escapes are undone."""
    generator = random.Random(3)
    for _ in range(300):
        tokens = generator.choices(["a", "b", "@-@"], k=generator.randint(1, 7))
        places = joined_words(tokens)
        joined = unescape_bytes(" ".join(tokens).encode()).split()
        assert unescape(tf.ragged.constant([tokens])).to_list() == [joined]
        assert [
            b"".join(t.replace("@-@", "-").encode() for t, k in zip(tokens, places) if k == word)
            for word in range(max(places) + 1)
        ] == [word.replace(b"@-@", b"-") for word in joined]


def test_case_and_spaces():
    assert words(moses(lowercase=True), "  L'  Été ") == ["l'", "été"]
    assert words(moses(), "   ") == []


def test_subword_pieces_are_those_of_the_running_text():
    config = TextConfig(language="fr", tokenization="sentencepiece", vocabulary_size=40)
    text = build_text(config, ["L'homme dort dans la maison.", "La maison de l'homme est là."] * 20)
    tokens = text.split(["l&apos; homme dort dans la maison ."]).to_list()
    assert tokens == text.tokenize(["l'homme dort dans la maison."]).to_list()
    assert tokens != text.tokenize(["l' homme dort dans la maison ."]).to_list()


def test_in_a_graph():
    text = moses()
    assert tf.function(text.split, autograph=False)(tf.constant(["l&apos; a"])).to_list() == [
        [b"l'", b"a"]
    ]


def test_what_makes_two_texts_the_same():
    assert moses().same_as(moses(vocabulary_size=99))
    assert not moses().same_as(moses(lowercase=True))
    assert not moses().same_as(
        Text(TextConfig(language="fr"), Vocabulary(["<pad>", "</s>", "<unk>", "a", "l'"]))
    )
