"""phrase-table on the command line, against the training logits."""

import gzip
import math
import os

import pytest
from test_pairs import log_probability

TABLE = [
    "the door ||| la porte ||| 0.5 0.1 ||| 0-0 1-1 ||| 3 2 1\n",
    "the xylophone ||| le xylophone ||| 0.5 0.1\n",
    "the door ||| la porte ||| 0.3 0.1\n",
]


@pytest.fixture
def table(tmp_path):
    (tmp_path / "in.gz").write_bytes(gzip.compress("".join(TABLE).encode()))
    return tmp_path / "in.gz"


def test_the_probability_and_the_unknown_words(rnnsearch, run_folder, table, translator):
    path = table.with_name("out.gz")
    out, err = rnnsearch("phrase-table", "--model", run_folder, table, path)
    assert out == [
        f"PhraseDictionaryMemory name=TranslationModel0 num-features=4 path={path} input-factor=0"
        " output-factor=0"
    ]
    assert err == ""  # what is done at once needs no bar
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    known = [text.vocabulary.tokens for text in (translator.source_text, translator.target_text)]
    for line, before in zip(lines, TABLE, strict=True):
        fields = line.split(" ||| ")
        old = before.rstrip("\n").split(" ||| ")
        *scores, probability, count = fields[2].split(" ")
        assert [*fields[:2], " ".join(scores), *fields[3:]] == old
        assert math.log(float(probability)) == pytest.approx(
            log_probability(translator, *old[:2]), abs=1e-4
        )
        unknown = sum(
            word not in words for phrase, words in zip(old, known) for word in phrase.split()
        )
        assert math.log(float(count)) == pytest.approx(unknown, abs=1e-5)


def test_a_table_is_a_file_as_it_is_read_twice(rnnsearch, run_folder, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "out").write_text("before")
    out, err = rnnsearch(
        "phrase-table", "--model", run_folder, tmp_path / "pipe", tmp_path / "out", code=1
    )
    assert (
        out == []
        and f"{tmp_path / 'pipe'}: expected a file, which is read several times, got a pipe;"
        " write it to a file first"
        in err
    )
    out, err = rnnsearch("phrase-table", "--model", run_folder, "-", tmp_path / "out", code=2)
    assert out == [] and "expected a file, as it is read twice, got standard input" in err
    out, err = rnnsearch("phrase-table", "--model", run_folder, tmp_path / "pipe", "-", code=2)
    assert out == [] and "OUT: expected a file, as standard output has the line" in err
    assert (tmp_path / "out").read_text() == "before"


def test_a_bad_table_leaves_nothing_behind(rnnsearch, run_folder, table):
    table.write_bytes(gzip.compress(("".join(TABLE) + "one field\n").encode()))
    out, err = rnnsearch(
        "phrase-table", "--model", run_folder, table, table.with_name("out.gz"), code=1
    )
    assert (
        out == [] and f"{table}:4: expected `source ||| target ||| scores …`, got 1 field(s)" in err
    )
    assert [path.name for path in table.parent.iterdir()] == ["in.gz"]


def test_an_interrupted_run_leaves_the_old_table(
    rnnsearch, run_folder, table, translator, monkeypatch
):
    path = table.with_name("out.gz")
    path.write_text("before")

    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr(translator, "score_targets", fail)
    rnnsearch("phrase-table", "--model", run_folder, table, path, code=1)
    assert path.read_text() == "before"
    assert sorted(each.name for each in table.parent.iterdir()) == ["in.gz", "out.gz"]
