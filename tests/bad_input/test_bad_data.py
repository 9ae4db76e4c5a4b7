"""Corpus files with something wrong: one error that names file and line, and nothing else."""

import gzip
import os
import types

import pytest

from rnnsearch_tf.config import load_config
from rnnsearch_tf.data.batches import training_dataset
from rnnsearch_tf.data.pairs import Pairs
from rnnsearch_tf.errors import UserError


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content)
    return str(path)


def cut_short(content):
    zipped = gzip.compress(content, mtime=0)
    return zipped[: len(zipped) // 2]


LINES = "".join(f"{number} {number**3 % 9973}\n" for number in range(3000)).encode()

CASES = {
    "unequal": (
        "s",
        b"a\nb\nc\n",
        "t",
        b"a\nb\n",
        (
            "{s}:3: expected as many lines as in {t}, which has 2, got 3; if a line is missing in"
            " the middle, "
        ),
    ),
    "latin-1": (
        "s",
        b"caf\xe9\n",
        "t",
        b"a\n",
        (
            "{s}:1: expected UTF-8, got byte 0xe9 at column 4; convert the file, for example with"
            " iconv"
        ),
    ),
    "empty files": (
        "s",
        b"",
        "t",
        b"",
        "{s}, {t}: expected at least one pair of sentences, got 0 pairs; check the text",
    ),
    "empty lines": (
        "s",
        b"a\n\n",
        "t",
        "\u00a0\u3000\t\r\nb\n".encode(),
        "expected at least one pair of sentences, got 0 pairs; left out: 2 with an empty line"
        " (first: {t}:1); check the text",
    ),
    "missing": (
        "s",
        b"a\n",
        "no-such",
        None,
        "{t}: expected a text file, found none; check the path",
    ),
    "truncated gzip": (
        "s.gz",
        cut_short(LINES),
        "t",
        LINES,
        "expected a text that can be read, got: Compressed file ended before the end",
    ),
    "damaged gzip": (
        "s.gz",
        gzip.compress(LINES)[:-8] + b"\0" * 8,
        "t",
        LINES,
        "{s}:3001: expected a text that can be read, got: CRC check failed",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_files_stop_with_one_line_that_names_the_place(tmp_path, case, numbers_text):
    source_name, source_bytes, target_name, target_bytes, message = CASES[case]
    source = write(tmp_path, source_name, source_bytes)
    target = (
        str(tmp_path / target_name)
        if target_bytes is None
        else write(tmp_path, target_name, target_bytes)
    )
    with pytest.raises(UserError) as caught:
        training_dataset(numbers_text, numbers_text, Pairs(source, target), load_config().data, 1)
    text = str(caught.value)
    assert message.format(s=source, t=target) in text
    assert "\n" not in text and caught.value.exit_code == 1


def test_truncated_gzip_names_the_line_reached(tmp_path):
    path = write(tmp_path, "s.gz", cut_short(LINES))
    with pytest.raises(UserError) as caught:
        list(Pairs(path, path))
    place = int(str(caught.value).removeprefix(f"{path}:").partition(":")[0])
    assert 500 < place < 3000


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(UserError, match="expected a text file .* got: Is a directory"):
        list(Pairs(str(tmp_path), str(tmp_path)))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path):
    path = write(tmp_path, "s", b"a\n")
    os.chmod(path, 0)
    with pytest.raises(UserError, match="expected a readable file, got Permission denied"):
        list(Pairs(path, path))


def test_length_limits_that_leave_nothing_are_named(tmp_path, numbers_text):
    data = load_config(values={"data": {"maximum_length": 2}}).data
    path = write(tmp_path, "s", b"5 6 7\n8 9 10\n")
    with pytest.raises(UserError) as caught:
        training_dataset(numbers_text, numbers_text, Pairs(path, path), data, 1)
    assert (
        str(caught.value)
        == f"{path}, {path}: expected pairs of at most 2 tokens on each side, got none; raise"
        " data.maximum_length"
    )


@pytest.fixture
def numbers_text():
    """Encodes "5 7" as [5, 7, 1]."""
    import tensorflow as tf

    class Numbers:
        vocabulary = types.SimpleNamespace(size=100)

        def encode(self, texts):
            ids = tf.strings.to_number(tf.strings.split(texts), tf.int32)
            return tf.concat(
                [ids, tf.RaggedTensor.from_tensor(tf.ones([ids.nrows(), 1], tf.int32))], axis=1
            )

    return Numbers()
