"""Characters that nobody sees, and runs of combining marks."""

import time
import unicodedata

import pytest
import tensorflow as tf

from rnnsearch_tf.config import TextConfig
from rnnsearch_tf.data.pairs import Pairs
from rnnsearch_tf.text.pipeline import build_text, normalize

INVISIBLE = [
    *range(0x80, 0x85),
    *range(0x86, 0xA0),
    0xAD,
    0x200B,
    0x200E,
    0x200F,
    *range(0x202A, 0x202F),
    *range(0x2060, 0x2065),
    *range(0x2066, 0x206A),
    0xFEFF,
]
"""The list, written out once more; U+0085 is a line break, and white space."""

LINES = ["She has never been to Paris.", "L'été, à côté.", "می‌خواهم", "👩‍👩‍👧"]
WAYS = {
    "moses": TextConfig(language="fr"),
    "space": TextConfig(tokenization="space"),
    "subwords": TextConfig(tokenization="sentencepiece", vocabulary_size=60),
}


@pytest.fixture(scope="module", params=WAYS)
def text(request):
    return build_text(WAYS[request.param], LINES * 3)


def test_a_text_with_them_is_the_text_without_them(text):
    """Before, within and after; the joiners of Persian and of emoji stay."""
    plain = text.encode(tf.constant(LINES)).to_list()
    for code in INVISIBLE:
        sign = chr(code)
        placed = [
            form
            for line in LINES
            for form in (
                sign + line,
                line[:2] + sign + line[2:],
                line + sign,
                f"{sign}{sign} {line}",
            )
        ]
        assert text.encode(tf.constant(placed)).to_list() == [
            row for row in plain for _ in range(4)
        ], hex(code)
    assert b"\xe2\x80\x8c" in b"".join(text.tokenize(tf.constant(LINES)).to_list()[2])
    assert b"\xe2\x80\x8d" in b"".join(text.tokenize(tf.constant(LINES)).to_list()[3])


def test_a_line_of_them_alone_is_an_empty_line(text):
    lines = ["".join(map(chr, INVISIBLE)), *(f" {chr(code)}\t" for code in INVISIBLE)]
    assert text.tokenize(tf.constant(lines)).to_list() == [[]] * len(lines)
    assert text.prepared(tf.constant(lines)).numpy().tolist() == [b""] * len(lines)


def test_letters_and_marks_come_together_over_one():
    text = build_text(WAYS["moses"], LINES)
    assert text.tokenize(tf.constant(["e\u200b\u0301te\u00ad\u0301"])).to_list() == [
        ["été".encode()]
    ]


def test_pairs_count_such_a_line_as_empty():
    lines = ["un", *map(chr, INVISIBLE), "\ufeff \u200b\u00a0", "\u200c"]
    pairs = Pairs(("one", line) for line in lines)
    assert [target for _, target in pairs] == ["un", "\u200c"]
    assert pairs.report.empty == len(lines) - 2


def test_up_to_30_marks_are_normalized_as_ever():
    lines = [
        "a" + "\u0301\u0323" * 15 + "b" + "\u0323\u0301" * 15,
        "e\u0301" * 40,
        "\u0301" * 30,
        "ḍ̇" + "\u0307\u0323" * 14,
    ]
    assert [line.decode() for line in normalize(tf.constant(lines)).numpy()] == [
        unicodedata.normalize("NFC", line) for line in lines
    ]


def test_of_more_the_first_30_stay():
    for count in (31, 32, 60, 61, 100):
        line, kept = (
            "q" + ("\u0301\u0323" * 100)[:marks] + "b" + "\u0301" * 3 for marks in (count, 30)
        )
        assert normalize(tf.constant([line])).numpy()[0].decode() == unicodedata.normalize(
            "NFC", kept
        )


def test_every_mark_that_is_sorted_is_counted():
    """What a normal form moves, by the library that TensorFlow Text takes, is a mark to the rule
    that counts them.
    """
    codes = [
        code
        for code in (*range(0x300, 0x20000), *range(0xE0000, 0xE0200))
        if not 0xD800 <= code < 0xE000
    ]
    # classes 240, the highest, and 1, the lowest
    pairs = [(f"a\u0345{chr(code)}", f"a{chr(code)}\u0334") for code in codes]
    moved = [normalize(tf.constant(lines)).numpy() for lines in zip(*pairs)]
    sorted_marks = [
        code
        for code, pair, found in zip(codes, pairs, zip(*moved))
        if any(new.decode()[1:2] != old[1:2] for new, old in zip(found, pair))
    ]
    sorted_marks = [
        code
        for code in sorted_marks
        if unicodedata.combining(chr(code)) or unicodedata.category(chr(code)) == "Cn"
    ]
    assert len(sorted_marks) > 850
    runs, kept = (
        normalize(tf.constant(["q" + chr(code) * count for code in sorted_marks])).numpy()
        for count in (31, 30)
    )
    assert [hex(code) for code, run, rest in zip(sorted_marks, runs, kept) if run != rest] == []


def test_a_run_of_marks_takes_a_time_in_proportion(text):
    """A quarter of a million marks and four times as many; the quadratic way took minutes."""

    def seconds(count):
        begin = time.process_time()
        text.encode(tf.constant(["a" + "\u0301\u0323" * (count // 2)]))
        return time.process_time() - begin

    seconds(100)
    shorter = min(seconds(250_000) for _ in range(2))
    longer = seconds(1_000_000)
    assert longer < 8 * shorter + 0.2
