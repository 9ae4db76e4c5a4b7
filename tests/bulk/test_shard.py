"""One file of a corpus: a line for a line, what is bad in a record, whole or not there. What
translates is a stand-in here.
"""

import gzip
import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnsearch_tf.extras.bulk.shard import translate_shard
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.reading import raw_batches
from rnnsearch_tf.files.streams import LONGEST_LINE

TOKENS = 5  # what the stand-in takes
LINES = st.lists(
    st.one_of(
        st.binary(max_size=12),
        st.text(alphabet="ab é\x00\t\x0b\x7f\u2028", max_size=12).map(str.encode),
    ),
    max_size=30,
)


def stand_in(texts):
    return [text.upper() if len(text.split()) <= TOKENS else None for text in texts]


def expected(line):
    """(output, part of the reason) of a line, by rules written down a second time."""
    line = line[:-1] if line.endswith(b"\r") else line
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return "", "expected UTF-8"
    if any(
        ord(character) < 32 and character not in "\t\n\v\f\r" or ord(character) == 127
        for character in text
    ):
        return "", "control character"
    return (
        (text.upper().replace("\r", " "), None) if len(text.split()) <= TOKENS else ("", "tokens")
    )


@settings(max_examples=60, deadline=None)
@given(lines=LINES, window=st.integers(1, 7), packed=st.booleans(), ended=st.booleans())
def test_a_line_for_a_line_and_a_record_for_a_bad_one(
    tmp_path_factory, lines, window, packed, ended
):
    folder = tmp_path_factory.mktemp("shard")
    data = b"\n".join(lines) + (b"\n" if ended else b"")
    # zeros at every other of the first bytes: the text would be refused as UTF-16
    if b"\0" in data[:64]:
        lines = [b"x" * 64, *lines]
        data = b"\n".join(lines) + (b"\n" if ended else b"")
    source, output, bad = (
        folder / f"{name}{'.gz' if packed else ''}" for name in ("in", "out", "bad")
    )
    source.write_bytes(gzip.compress(data) if packed else data)
    translate_shard(stand_in, source, output, bad, window)
    lines = data.split(b"\n")
    lines = lines[:-1] if not lines[-1] else lines
    wanted = [expected(line) for line in lines]
    found = gzip.decompress(output.read_bytes()) if packed else output.read_bytes()
    assert found.decode() == "".join(f"{text}\n" for text, _ in wanted)
    records = (
        [json.loads(line) for line in (gzip.open if packed else open)(bad, "rt")]
        if bad.exists()
        else []
    )
    assert [(record["file"], record["line"]) for record in records] == [
        (str(source), k) for k, (_, why) in enumerate(wanted, 1) if why
    ]
    assert all(wanted[record["line"] - 1][1] in record["reason"] for record in records)
    assert bad.exists() == bool(records)


def test_a_line_without_an_end_costs_that_line_and_no_memory(tmp_path):
    source = tmp_path / "in"
    output = tmp_path / "out"
    bad = tmp_path / "bad"
    source.write_bytes(
        b"a\n"
        + b"x" * (3 * LONGEST_LINE)
        + b"\nb\n"
        + b"y" * LONGEST_LINE
        + b"\n"
        + b"z" * (LONGEST_LINE + 1)
    )
    assert (
        max(len(line) for lines in raw_batches(source, 10, cut=True) for line in lines)
        < LONGEST_LINE + 200_000
    )
    translate_shard(stand_in, source, output, bad)
    assert output.read_bytes() == b"A\n\nB\n" + b"Y" * LONGEST_LINE + b"\n\n"
    assert [json.loads(line)["line"] for line in bad.read_text().splitlines()] == [2, 5]


def test_a_folder_whose_name_is_not_utf_8_is_named_in_a_record(tmp_path):
    folder = tmp_path / os.fsdecode(b"\xe9t\xe9")
    folder.mkdir()
    (folder / "in").write_bytes(b"\xff\n")
    translate_shard(stand_in, folder / "in", tmp_path / "out", tmp_path / "bad")
    [record] = (tmp_path / "bad").read_text(encoding="utf-8").splitlines()
    assert json.loads(record)["file"] == str(folder / "in")


def test_a_failure_in_the_middle_leaves_nothing(tmp_path):
    def fails(texts):
        if "stop" in texts:
            raise UserError("no more")
        return texts

    source = tmp_path / "in"
    output = tmp_path / "out"
    source.write_bytes(b"a\n\xff\nb\nstop\n")
    with pytest.raises(UserError, match="no more"):
        translate_shard(fails, source, output, tmp_path / "bad", window=2)
    assert os.listdir(tmp_path) == ["in"]


@pytest.mark.parametrize(
    "name, data, message",
    [
        ("in.gz", gzip.compress(b"text\n" * 99)[:-9], "in.gz:.*: expected more gzip data"),
        ("in.gz", b"not gzip\n", "in.gz:1: expected gzip data"),
        ("none", None, "none: expected a text file, found none"),
    ],
    ids=["cut off", "not gzip", "none"],
)
def test_a_file_that_cannot_be_read_has_no_output(tmp_path, name, data, message):
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(UserError, match=message):
        translate_shard(stand_in, tmp_path / name, tmp_path / "out", tmp_path / "bad")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "in").write_bytes(b"a\n")
    with pytest.raises(
        UserError, match="folder/out: expected a file that can be written, got: No such file"
    ):
        translate_shard(stand_in, tmp_path / "in", tmp_path / "folder" / "out", tmp_path / "bad")
