"""Lines in and out: whole, in order, streamed, compressed by name; whole files atomically."""

import contextlib
import errno
import gzip
import io
import os
import subprocess
import sys
import threading

import pytest

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import atomic
from rnnsearch_tf.files.atomic import new_folder, replacing, write_file
from rnnsearch_tf.files.reading import read_batches, read_lines, read_rows
from rnnsearch_tf.files.writing import open_output


def write(path, data):
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return str(path)


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize(
    "data, lines",
    [
        (b"", []),
        (b"\n", [""]),
        (b"a\n\nb\n", ["a", "", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        # only a line feed ends a line; a byte-order mark is one only at the start
        (
            "\ufeffé\u2028b\u0085c\x0bd\x1ce\rf\n\ufeffx\n".encode(),
            ["é\u2028b\u0085c\x0bd\x1ce\rf", "\ufeffx"],
        ),
    ],
)
def test_every_line_comes_once(tmp_path, name, size, data, lines):
    batches = list(read_batches(write(tmp_path / name, data), size))
    assert [line for batch in batches for line in batch] == lines
    assert all(1 <= len(batch) <= size for batch in batches)


def test_a_long_file_arrives_whole(tmp_path, monkeypatch):
    lines = [f"line {n} " + "x" * (n % 97) for n in range(5000)]
    name = write(tmp_path / "long", "\n".join(lines).encode())
    assert sum(read_batches(name, 64), []) == lines
    monkeypatch.setattr("rnnsearch_tf.files.reading.CHUNK", 1000)
    assert list(read_lines(name)) == lines


def test_what_has_arrived_on_a_pipe_is_handed_on(monkeypatch):
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stdin:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stdin))
        # whoever waits for ten lines gets them all at the end
        ending = threading.Timer(30, os.close, [writing])
        ending.start()
        batches = read_batches("-", 10)
        os.write(writing, b"one\ntwo\nthr")
        assert next(batches) == ["one", "two"]
        os.write(writing, b"ee\n" + b"x\n" * 12)
        assert next(batches) == ["three"] + ["x"] * 9
        ending.cancel()
        os.close(writing)
        assert list(batches) == [["x"] * 3]


def test_results_never_replace_the_text_that_is_read(tmp_path):
    path = write(tmp_path / "a", b"one\n")
    program = "import sys; from rnnsearch_tf.files.reading import check_inputs as check\n"
    program += "check([sys.argv[1]], sys.argv[2])"
    for name in (path, "-"):
        with open(path, "rb") as stdin:
            done = subprocess.run(
                [sys.executable, "-c", program, name, path], stdin=stdin, capture_output=True
            )
        assert done.returncode == 1 and b"expected another file for the results" in done.stderr


@pytest.mark.parametrize(
    "name, data, message",
    [
        ("a", b"ok\ncaf\xe9\n", r"a:2: expected UTF-8, got byte 0xe9 at column 4; correct"),
        ("a", gzip.compress(b"text\n" * 9999)[:-9], r"a:\d+: expected a text that can be"),
        ("a", gzip.compress(b"text\n")[:-8] + bytes(8), r"a:2: .*CRC check failed"),
        ("missing", None, "missing: expected a text file, found none; check the path"),
        (".", None, "expected a text that can be read, got: Is a directory"),
    ],
    ids=["latin-1", "cut gzip", "damaged gzip", "missing", "folder"],
)
def test_what_cannot_be_read_is_named_with_its_line(tmp_path, name, data, message):
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(UserError, match=message):
        list(read_lines(str(tmp_path / name)))


def test_pairs_go_together(tmp_path):
    source = write(tmp_path / "s.gz", b"a\nb\nc\n")
    target = write(tmp_path / "t", b"A\n\nC\n")
    assert list(read_rows(source, target)) == [("a", "A"), ("b", ""), ("c", "C")]
    assert list(read_rows(source, target, source))[0] == ("a", "A", "a")
    five = write(tmp_path / "5", b"1\n2\n3\n4\n5\n")
    short = write(tmp_path / "2", b"x\ny\n")
    with pytest.raises(UserError, match=f"{source}:3: .* in {short}, which has 2, got 3;"):
        list(read_rows(short, source, five))
    longer = write(tmp_path / "l", b"A\nB\nC\nD\n")
    for sides in ((source, longer), (longer, source)):
        message = f"{longer}:4: expected as many lines as in {source}, which has 3, got 4;"
        with pytest.raises(UserError, match=message):
            list(read_rows(*sides))


def test_results_are_one_line_each_and_there_at_once(tmp_path, capsys):
    for name in ("out.txt", "out.txt.gz"):
        with open_output(tmp_path / name) as write_lines:
            write_lines(["é", "", "two\nlines\rhere"])
            if name == "out.txt":
                assert (tmp_path / name).read_text(encoding="utf-8").count("\n") == 3
        data = (tmp_path / name).read_bytes()
        data = gzip.decompress(data) if name.endswith("gz") else data
        assert data.decode() == "é\n\ntwo lines here\n"
    with open_output() as write_lines:
        write_lines(["x"])
    assert capsys.readouterr().out == "x\n"


def test_a_failure_before_the_first_result_keeps_what_was_there(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"old\n")
    with pytest.raises(UserError), open_output(path):
        raise UserError("no such model")
    assert path.read_bytes() == b"old\n"
    with open_output(path):
        pass  # no lines are a result, too
    assert path.read_bytes() == b""


@contextlib.contextmanager
def nobody():
    """Inside, this process has no right to write to what root owns."""
    if os.geteuid():
        pytest.skip("only root can become nobody")
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_folder_that_may_not_be_written_to(tmp_path):
    for folder in tmp_path.parents[:-1]:
        if folder.stat().st_uid == 0:
            folder.chmod(folder.stat().st_mode | 0o055)
    tmp_path.chmod(0o755)
    path = tmp_path / "f"
    message = f"{path}: expected a place that can be written, got: Permission denied; check"
    with nobody():
        for attempt in (replacing, open_output, new_folder):
            with pytest.raises(UserError, match=message), attempt(path) as partial:
                open(partial, "w")
    assert not list(tmp_path.iterdir())


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "f"
    write_file(path, "old")

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(atomic.os, "fsync", full)
    message = f"{path}: expected a place that can be written, got: No space left on device; free"
    with pytest.raises(UserError, match=message):
        write_file(path, "new")
    with pytest.raises(KeyError), replacing(path) as partial:
        partial.write_text("half")
        raise KeyError
    monkeypatch.undo()
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["f"]


def test_what_is_written_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    steps = []
    real = os.replace
    monkeypatch.setattr(
        atomic.os,
        "fsync",
        lambda descriptor: steps.append(os.readlink(f"/proc/self/fd/{descriptor}")),
    )
    monkeypatch.setattr(
        atomic.os, "replace", lambda old, new: (steps.append(f"{old} -> {new}"), real(old, new))
    )
    write_file(tmp_path / "f", "text")
    old = tmp_path / "partial-f"
    assert steps == [str(old), f"{old} -> {tmp_path / 'f'}", str(tmp_path)]


def test_a_new_folder_appears_whole_or_not_at_all(tmp_path):
    with pytest.raises(KeyError), new_folder(tmp_path / "d") as partial:
        (partial / "a").write_text("half")
        raise KeyError
    assert not list(tmp_path.iterdir())
    with new_folder(tmp_path / "d") as partial:
        (partial / "a").write_text("whole")
    assert (tmp_path / "d" / "a").read_text() == "whole" and os.listdir(tmp_path) == ["d"]
