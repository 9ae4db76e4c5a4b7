"""A shortlist made, used, and what it costs."""

import json
import re

import pytest

from rnnsearch_tf.data.phrasebook import phrasebook

LONG = ("--maximum-length", 50)
"""The RUN was trained on sentences of up to 5 source words."""


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """(source file, target file) of the text that the model was trained on."""
    folder = tmp_path_factory.mktemp("text")
    for name, lines in zip(("source", "target"), phrasebook(200, 1, "train")):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder / "source", folder / "target"


@pytest.fixture
def shortlist(rnnsearch, run_folder, text, tmp_path):
    path = tmp_path / "shortlist.gz"
    out, err = rnnsearch(
        "shortlist",
        "--model",
        run_folder,
        "--translations",
        3,
        "--iterations",
        8,
        "--output",
        path,
        *LONG,
        *text,
    )
    given = f"--model {run_folder} --shortlist {path}"
    assert out == [] and err.startswith(f"Next: rnnsearch translate {given} < TEXT; ")
    return path


def test_words_are_translated(rnnsearch, run_folder, text):
    out, _ = rnnsearch(
        "shortlist", "--model", run_folder, "--translations", 2, "--iterations", 20, *LONG, *text
    )
    rows = [
        (source, target, float(probability)) for source, target, probability in map(str.split, out)
    ]
    for source in {source for source, *_ in rows}:
        probabilities = [p for word, _, p in rows if word == source]
        assert 1 <= len(probabilities) <= 2 and probabilities == sorted(probabilities, reverse=True)
    best = {source: target for source, target, _ in reversed(rows)}
    assert best["we"] == "nous" and best["three"] == "trois" and best["green"].startswith("vert")
    # it stands for any sentence, and is no translation
    assert "</s>" in best and "</s>" not in best.values()


def test_overlong_pairs_are_left_out(rnnsearch, run_folder, text, tmp_path):
    """One line of thousands of words would fill the memory: as many cells as its length squared."""
    paths = [tmp_path / name for name in ("source", "target", "short-source", "short-target")]
    sides = [path.read_text().splitlines() for path in text]
    # the period is a word too
    short = [pair for pair in zip(*sides) if len(pair[0].rstrip(".?").split()) < 5]
    assert 5 < len(short) < len(sides[0])
    long = " ".join(["green"] * 2000), " ".join(["nous"] * 2000)
    for side in (0, 1):
        paths[side].write_text("".join(f"{line}\n" for line in [long[side], *sides[side]]))
        paths[side + 2].write_text("".join(f"{pair[side]}\n" for pair in short))
    expected, err = rnnsearch("shortlist", "--model", run_folder, *paths[2:])
    assert expected and err == ""
    out, err = rnnsearch("shortlist", "--model", run_folder, *paths[:2])
    assert out == expected
    assert (
        err.count("\n") == 1
        and f"{1 + len(sides[0]) - len(short)} of {1 + len(sides[0])} pairs are"
        " longer than 5 source"
        in err
    )


def test_nothing_to_learn_from(rnnsearch, run_folder, tmp_path):
    """An empty shortlist would leave every translation without words."""
    for name in ("empty", "there"):
        (tmp_path / name).write_text("a b c d e f g h\n" if name == "there" else "")
    for name in ("empty", "there"):  # none, and none short enough
        words = [
            "--model",
            run_folder,
            "--output",
            tmp_path / "shortlist",
            tmp_path / name,
            tmp_path / name,
        ]
        out, err = rnnsearch("shortlist", *words, code=1)
        assert (
            out == []
            and f"{name}: expected sentence pairs of at most 5 source and " in err
            and "--maximum-length" in err
        )
        assert not (tmp_path / "shortlist").exists()


def test_memory_is_bounded_whatever_the_lengths(rnnsearch, run_folder, text, monkeypatch):
    from rnnsearch_tf.cli import shortlist

    monkeypatch.setattr(shortlist, "MOST_CELLS", 2000)
    bounded, err = rnnsearch("shortlist", "--model", run_folder, *LONG, *text)
    number = int(re.search(r"learned from the first (\d+) pairs", err)[1])
    assert 10 < number < 100 and "--pairs" in err
    monkeypatch.setattr(shortlist, "MOST_CELLS", 10**9)
    assert (
        rnnsearch("shortlist", "--model", run_folder, "--pairs", number, *LONG, *text)[0] == bounded
    )


def test_a_translation_has_no_other_words(rnnsearch, run_folder, shortlist, text, tmp_path):
    import gzip

    pairs = [
        line.split()[:2] for line in gzip.decompress(shortlist.read_bytes()).decode().splitlines()
    ]
    path = tmp_path / "lines"
    path.write_text("\n".join(text[0].read_text().splitlines()[:12]) + "\n")
    words = [
        "--shortlist",
        shortlist,
        "--shortlist-frequent",
        2,
        "--shortlist-translations",
        2,
        "--output-type",
        "json",
    ]
    out, err = rnnsearch("translate", "--model", run_folder, *words, path)
    frequent = [
        line.strip() for line in open(f"{run_folder}/vocabulary.target.txt", encoding="utf-8")
    ][:5]
    for line in map(json.loads, out):
        allowed = {
            target
            for source, target in pairs
            if source in [*line["source_tokens"], "</s>", "<unk>"]
        }
        assert line["tokens"] and set(line["tokens"]) <= allowed | set(frequent)
    assert err == ""


def test_a_missing_file_is_named_before_input_is_read(rnnsearch, run_folder):
    out, err = rnnsearch("translate", "--model", run_folder, "--shortlist", "no-file", code=1)
    assert out == [] and err.count("\n") == 1 and "no-file: expected a text file, found none" in err
