"""Lines in and out: whole, in order, streamed, compressed by name."""

import gzip
import io
import os
import threading
import time

import pytest

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.reading import read_all, read_batches, read_pairs
from rnnsearch_tf.files.writing import Output, whole_file


def write(path, data):
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return str(path)


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize(
    "data, lines",
    [
        (b"", []),
        (b"\n", [""]),
        (b"a\n\nb\n", ["a", "", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (
            "\ufeffé\u2028x\x0by\n".encode(),
            ["é\u2028x\x0by"],
        ),  # only a newline ends a line; no byte order mark
    ],
)
def test_every_line_comes_once(tmp_path, name, size, data, lines):
    batches = list(read_batches(write(tmp_path / name, data), size))
    assert [line for batch in batches for line in batch] == lines
    assert all(1 <= len(batch) <= size for batch in batches)


def test_a_long_file_arrives_in_full_batches(tmp_path):
    lines = [f"line {n} " + "x" * (n % 97) for n in range(5000)]  # several reads
    batches = list(read_batches(write(tmp_path / "long", "\n".join(lines).encode()), 64))
    assert [line for batch in batches for line in batch] == lines
    assert {len(batch) for batch in batches[:-1]} == {64}


def test_bytes_that_are_not_utf8_are_replaced_and_counted(tmp_path, caplog):
    name = write(tmp_path / "bad", b"ok\ncaf\xe9\n\xff\xfe\n")
    assert read_all(name) == ["ok", "caf\ufffd", "\ufffd\ufffd"]
    assert f"{name}: bytes that are not UTF-8 were replaced by U+FFFD in 2 line(s)" in caplog.text


@pytest.mark.parametrize(
    "data", [b"not gzip\n", gzip.compress(b"text\n" * 99)[:-9]], ids=["not gzip", "cut off"]
)
def test_a_gz_that_is_not_one_or_is_cut_off(tmp_path, data):
    path = tmp_path / "a.gz"
    path.write_bytes(data)
    with pytest.raises(UserError, match=r"a\.gz:\d+: expected (gzip data|more gzip data)"):
        read_all(str(path))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(
        UserError, match="missing: expected a text file, found none; check the path"
    ):
        read_all(str(tmp_path / "missing"))


def test_what_has_arrived_on_a_pipe_is_handed_on(monkeypatch):
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stdin:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stdin))
        # whoever waits for ten lines gets them all at the end
        ending = threading.Timer(2, os.close, [writing])
        ending.start()
        batches = read_batches("-", 10)
        os.write(writing, b"one\ntwo\nthr")
        assert next(batches) == ["one", "two"]
        os.write(writing, b"ee\n" + b"x\n" * 12)
        assert next(batches) == ["three"] + ["x"] * 9
        assert next(batches) == ["x"] * 3
        assert list(batches) == []


def test_pairs_go_together(tmp_path):
    source = write(tmp_path / "s.gz", b"a\nb\nc\n")
    target = write(tmp_path / "t", b"A\n\nC\n")
    pairs = [
        pair for sources, targets in read_pairs(source, target, 2) for pair in zip(sources, targets)
    ]
    assert pairs == [("a", "A"), ("b", ""), ("c", "C")]


def test_pairs_come_as_soon_as_both_lines_have_arrived(tmp_path):
    """The source is written line by line, and waits for the pairs of the lines before."""
    os.mkfifo(tmp_path / "s")
    target = write(tmp_path / "t", b"A\nB\nC\n")
    came = [threading.Event() for _ in range(3)]

    def write_slowly():
        with open(tmp_path / "s", "wb", buffering=0) as stream:
            for line, event in zip((b"a\n", b"b\n", b"c\n"), came):
                stream.write(line)
                event.wait(20)

    writer = threading.Thread(target=write_slowly, daemon=True)
    writer.start()
    for number, pair in enumerate(read_pairs(str(tmp_path / "s"), target, 64)):
        assert pair == (["abc"[number]], ["ABC"[number]])
        came[number].set()
    writer.join(20)
    assert number == 2 and not writer.is_alive()


@pytest.mark.parametrize("lines", [(3, 500), (500, 3)])
def test_unequal_pipes_too(tmp_path, lines):
    names = []
    for side, count in zip("st", lines):
        names.append(str(tmp_path / side))
        os.mkfifo(names[-1])
        threading.Thread(target=write, args=(tmp_path / side, b"x\n" * count), daemon=True).start()
    with pytest.raises(
        UserError,
        match=f"got {lines[0]} in .*s and {lines[1]} in .*t; their lines must correspond$",
    ):
        list(read_pairs(*names, 2))


def test_results_are_one_line_each(tmp_path, capsys):
    for name in ("out.txt", "out.txt.gz"):
        with Output(tmp_path / name) as output:
            output.write(["é", "", "two\nlines\r\nhere"])
        data = (tmp_path / name).read_bytes()
        data = gzip.decompress(data) if name.endswith("gz") else data
        assert data.decode() == "é\n\ntwo lines here\n"
    with Output(tmp_path / "streamed") as output:
        output.write(["x"])
        assert (tmp_path / "streamed").read_text() == "x\n"  # a reader has it before the end
    with Output() as output:
        output.write(["x"])
    assert capsys.readouterr().out == "x\n"


def test_a_place_that_cannot_be_written(tmp_path):
    with pytest.raises(UserError, match="expected a file that can be written"):
        Output(tmp_path / "no" / "out")


def test_the_same_results_are_the_same_bytes_at_any_time(tmp_path, monkeypatch):
    """A gzip header may carry the time and the file's name; a whole file carries neither."""
    written = []
    for name, now in (("a.gz", 1_000_000_000.0), ("b.gz", 2_000_000_000.0)):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        with whole_file(tmp_path / name) as file:
            file.write(b"La porte est blanche.\n")
        written.append((tmp_path / name).read_bytes())
    assert written[0] == written[1]
    assert gzip.decompress(written[0]) == b"La porte est blanche.\n"
