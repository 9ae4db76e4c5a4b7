"""Paragraphs are cut where the sentences of real text were joined."""

import gzip
import random

import pytest

import rnnsearch_tf as rt
from shared_data import SHARED

from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.text.sentences import join_sentences


@pytest.mark.corpus
@pytest.mark.parametrize(
    "name, language, ends",
    [
        ("tatoeba/val.en", "en", ".?!"),
        ("tatoeba/val.fr", "fr", ".?!"),
        ("tanaka/val.ja", "ja", "。"),
    ],
)
def test_the_ends_of_sentences_are_found(name, language, ends):
    path = SHARED / "data" / f"{name}.gz"
    if not path.exists():
        pytest.skip("the shared corpora are not here")
    lines = gzip.open(path, "rt", encoding="utf-8").read().splitlines()
    if language == "ja":
        lines = [line.replace(" ", "") for line in lines]
    lines = [
        line for line in lines if line.endswith(tuple(ends)) and sum(map(line.count, ends)) == 1
    ]
    generator = random.Random(1)
    right = found = 0
    while len(lines) > 6:
        sentences = [lines.pop() for _ in range(generator.randint(2, 6))]
        cut = rt.split_sentences(join_sentences(sentences, language), language)
        assert join_sentences(cut, language) == join_sentences(sentences, language)
        right += len(sentences)
        found += len({*cut} & {*sentences})
    assert right > 300 and found > 0.97 * right, (found, right)


def test_abbreviations_are_those_of_the_language():
    assert rt.split_sentences("Mr. Lee is here. Is Tom?", "en-GB") == [
        "Mr. Lee is here.",
        "Is Tom?",
    ]
    german = "Das ist z. B. ein Haus am 3. Mai. Es ist groß."
    assert rt.split_sentences(german, "de-AT") == [german[:-13], german[-12:]]
    assert rt.split_sentences("你好。再见！", "zh-Hans") == ["你好。", "再见！"]


def test_blank_text_has_no_sentences_and_white_space_between_them_is_dropped():
    assert rt.split_sentences(" \t", "en") == rt.split_sentences("", "ja") == []
    assert rt.split_sentences("  One.   Two. ", "en") == ["One.", "Two."]
    assert rt.split_sentences("no mark at the end", "xx") == ["no mark at the end"]


def test_sentences_are_joined_as_their_language_is_written():
    assert join_sentences(["はい。", "", "君は？"], "ja") == "はい。君は？"
    assert join_sentences(["네.", "", "너는?"], "ko-KR") == "네. 너는?"


def test_a_language_without_marks_is_refused_by_name():
    with pytest.raises(UsageError, match="^language th: expected one that marks the ends"):
        rt.split_sentences("ฉันรักคุณ", "th")
