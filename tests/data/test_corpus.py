"""Line files: what a line is, streaming, and the checked pairs."""

import dataclasses
import gzip
import itertools
import pathlib
import tracemalloc

import pytest

from rnnsearch_tf.config import TextConfig, load_config
from rnnsearch_tf.data.corpus import check_development, open_corpus
from rnnsearch_tf.data.pairs import Pairs
from rnnsearch_tf.data.phrasebook import phrasebook
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files.reading import read_bytes
from rnnsearch_tf.text.pipeline import build_text, build_texts


@pytest.mark.parametrize("name", ["text", "text.gz"])
@pytest.mark.parametrize(
    "content, lines",
    [
        (b"", []),
        (b"one\ntwo\n", [b"one", b"two"]),
        (b"one\ntwo", [b"one", b"two"]),
        (b"one\r\ntwo\r\n", [b"one", b"two"]),
        (b"\xef\xbb\xbfone\n\xef\xbb\xbftwo\n", [b"one", b"\xef\xbb\xbftwo"]),
        (b"\xef\xbb\xbf", []),
        (b"\xef\xbb\xbf\nx\n", [b"", b"x"]),
        (
            "a\u2028b\u0085c\x0bd\x0ce\x1cf\rg\n".encode(),
            ["a\u2028b\u0085c\x0bd\x0ce\x1cf\rg".encode()],
        ),
        (b"\n\n", [b"", b""]),
        (b"a\x00b\n", [b"a\x00b"]),
    ],
)
def test_lines_end_at_line_feeds_only(write, name, content, lines):
    assert list(read_bytes(write(name, content))) == lines


def test_reading_holds_one_line_not_the_file(tmp_path):
    path = tmp_path / "large.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(100):
            file.write(b"a house and a garden near the station\n" * 1000)  # 4 MB in all
    tracemalloc.start()
    count = sum(1 for _ in Pairs(str(path), str(path)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 100_000
    assert peak < 1_000_000


def test_pairs_are_read_only_as_far_as_asked(write):
    good = [f"{number}" for number in range(20_000)]
    path = write("text", good + ["", "x"])
    pairs = Pairs(path, path)
    # the bad line is never reached
    assert list(itertools.islice(pairs, 3)) == [
        ("0", "0"),
        ("1", "1"),
        ("2", "2"),
    ]


def test_skipped_lines_are_counted_and_both_sides_stay_together(write):
    source = write("s", b"one\ntwo\n\xfftree\nfour\n \t\nsix\nseven\neight\n")
    target = write("t", b"un\n\ntrois\nquatre\ncinq\nsix\n")
    pairs = Pairs(source, target, on_bad_line="skip")
    assert list(pairs) == [("one", "un"), ("four", "quatre"), ("six", "six")]
    report = pairs.check()
    assert (report.kept, report.invalid, report.empty, report.unpaired, report.skipped) == (
        3,
        1,
        2,
        2,
        5,
    )
    assert report.examples[0].startswith(f"{target}:2: ")
    assert str(report).startswith(
        "3 pairs kept; left out: 1 with invalid UTF-8, 2 with an empty line, 2 lines without a"
        " partner (first: "
    )
    assert str(dataclasses.replace(report, too_long=1)).startswith("2 pairs kept; left out: ")
    assert [target for _, target in pairs] == ["un", "quatre", "six"]


def test_check_reads_once(monkeypatch):
    pairs = Pairs(["a"], ["b"])
    report = pairs.check()
    monkeypatch.setattr(pairs, "scan", None)
    assert pairs.check() is report and str(report) == "1 pairs kept"


def test_both_sides_are_counted_in_one_pass(write):
    sides = {
        "source": TextConfig(language="en"),
        "target": TextConfig(language="fr", vocabulary_size=4),
    }
    config = dataclasses.replace(load_config(), **sides)
    pairs = Pairs(write("s", ["a b", "", "b"]), write("t", ["x y", "z", "y"]), on_bad_line="skip")
    together = build_texts(config, pairs.lines())
    assert pairs.report.kept == 2
    alone = [build_text(sides[side], lines) for side, lines in zip(sides, zip(*pairs))]
    assert [text.vocabulary.tokens for text in together] == [
        text.vocabulary.tokens for text in alone
    ]
    assert [text.vocabulary.tokens[3:] for text in together] == [["b", "a"], ["y"]]


def test_lists_are_checked_like_files():
    with pytest.raises(UserError, match=r"source:2: expected a sentence, got an empty line"):
        Pairs(["a", ""], ["b", "c"]).check()
    with pytest.raises(UserError, match=r"target:1: expected UTF-8, got byte 0xed"):
        Pairs(["a"], ["\ud800"]).check()


def test_plain_and_gzipped_files_give_the_same_pairs(write):
    lines = [f"line {number} é" for number in range(1000)]
    plain = write("a", lines)
    zipped = write("a.gz", lines)
    assert list(Pairs(plain, zipped)) == [(line, line) for line in lines]


def test_paths_may_be_path_objects(write):
    path = pathlib.Path(write("a", ["x"]))
    assert list(Pairs(path, path)) == [("x", "x")]


def test_pairs_of_a_configuration(write):
    path = write("a", ["x"])
    config = load_config(
        values={"data": {"train_source": path, "train_target": path, "on_bad_line": "skip"}}
    )
    pairs = open_corpus(config)
    assert (pairs.source, pairs.target, pairs.on_bad_line) == (path, path, "skip")
    assert open_corpus(config, "development") is None
    built_in = load_config(values={"data": {"corpus": "phrasebook", "phrasebook_size": 30}})
    assert list(open_corpus(built_in)) == list(zip(*phrasebook(30, "train")))
    assert list(open_corpus(built_in, "test")) == list(zip(*phrasebook(500, "test")))


def test_options_of_evaluations_need_a_development_text(write):
    path = write("a", ["x"])
    text = {"train_source": path, "train_target": path}
    with_development = text | {"development_source": path, "development_target": path}
    for name, value in dict(
        patience=3, average=2, best_by="loss", evaluate_sentences=9, evaluate_beam_size=2
    ).items():
        training = {name: value}
        with pytest.raises(
            UsageError,
            match=(
                f"training.{name}: has no effect without a development text; set"
                " data.development_source"
            ),
        ):
            check_development(load_config(values={"data": text, "training": training}))
        check_development(load_config(values={"data": with_development, "training": training}))
        check_development(
            load_config(values={"data": {"corpus": "phrasebook"}, "training": training})
        )
    check_development(load_config(values={"data": text, "training": {"evaluate_every": 5}}))


@pytest.mark.parametrize(
    "data, part, message",
    [
        (
            {},
            "train",
            (
                r"data\.train_source: expected a text file, got none; set it, data\.corpora,"
                r" or data\.corpus=phrasebook"
            ),
        ),
        ({"train_source": "x"}, "train", r"data\.train_target: expected a text file"),
        (
            {"development_target": "x"},
            "development",
            r"data\.development_source: expected a text file",
        ),
        ({}, "test", r"expected part train or development of a corpus in files, got 'test'"),
    ],
)
def test_missing_names_are_wrong_usage(data, part, message):
    with pytest.raises(UsageError, match=message):
        open_corpus(load_config(values={"data": data}), part)
