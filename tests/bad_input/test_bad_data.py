"""Corpus files with something wrong: one error that names file and line, and nothing else."""

import gzip
import os

import pytest

from rnnsearch_tf.config import load_config
from rnnsearch_tf.data.dataset import training_dataset
from rnnsearch_tf.data.pairs import Pairs
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.training.fit import train


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content)
    return str(path)


def cut_short(content):
    zipped = gzip.compress(content, mtime=0)
    return zipped[: len(zipped) // 2]


LINES = "".join(f"sentence {number} {number**7}\n" for number in range(3000)).encode()

CASES = {
    "unequal": (
        "s",
        b"a\nb\nc\n",
        "t",
        b"a\nb\n",
        (
            "{s}:3: expected as many lines as in {t}, which has 2; {s} has 3, this is the first"
            " without a partner; "
        ),
    ),
    "latin-1": (
        "s",
        b"caf\xe9\n",
        "t",
        b"a\n",
        (
            "{s}:1: expected UTF-8, got byte 0xe9 at position 4; correct it, or set"
            " data.on_bad_line=skip"
        ),
    ),
    "empty line": (
        "s",
        b"a\n\n",
        "t",
        b"a\nb\n",
        "{s}:2: expected a sentence, got an empty line; correct it, or set data.on_bad_line=skip",
    ),
    "blank line": (
        "s",
        b"a\n",
        "t",
        "\u00a0\u3000\t\r\n".encode(),
        "{t}:1: expected a sentence, got an empty line; ",
    ),
    "empty files": (
        "s",
        b"",
        "t",
        b"",
        (
            "{s}, {t}: expected at least one sentence pair, both files are empty; check the paths"
            " and the files"
        ),
    ),
    "missing": (
        "s",
        b"a\n",
        "no-such",
        None,
        "{t}: expected a text file, found none; check the path",
    ),
    "not gzip": (
        "s.gz",
        b"plain text\n",
        "t",
        b"a\n",
        (
            "{s}:1: expected gzip data, got: Not a gzipped file (b'pl'); copy or download it again,"
            " or name it without .gz"
        ),
    ),
    "truncated gzip": (
        "s.gz",
        cut_short(LINES),
        "t",
        LINES,
        "expected more gzip data, the file ends early; copy or download it again",
    ),
    "damaged gzip": (
        "s.gz",
        gzip.compress(LINES)[:-8] + b"\0" * 8,
        "t",
        LINES,
        "{s}:3001: expected gzip data, got: CRC check failed",
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
        Pairs(path, path).check()
    place = int(str(caught.value).removeprefix(f"{path}:").partition(":")[0])
    assert 500 < place < 3000


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(UserError, match="expected a text file, found a folder"):
        Pairs(str(tmp_path), str(tmp_path)).check()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path):
    path = write(tmp_path, "s", b"a\n")
    os.chmod(path, 0)
    with pytest.raises(UserError, match="expected a readable file, got Permission denied"):
        Pairs(path, path).check()


def test_nothing_good_under_skip_is_still_an_error(tmp_path):
    source = write(tmp_path, "s", b"\n\xff\n")
    target = write(tmp_path, "t", b"a\nb\n")
    with pytest.raises(UserError) as caught:
        Pairs(source, target, on_bad_line="skip").check()
    assert f"expected at least one sentence pair, got 2 bad lines; the first: {source}:1: " in str(
        caught.value
    )


def test_length_limits_that_leave_nothing_are_named(tmp_path, numbers_text):
    data = load_config(
        values={"data": {"maximum_source_length": 2, "maximum_target_length": 7}}
    ).data
    path = write(tmp_path, "s", b"5 6 7\n8 9 10\n")
    with pytest.raises(UserError) as caught:
        training_dataset(numbers_text, numbers_text, Pairs(path, path), data, 1)
    assert (
        str(caught.value)
        == f"{path}, {path}: expected pairs of at most 2 source and 7 target tokens, got none; "
        "raise data.maximum_source_length or data.maximum_target_length"
    )


def test_weights_that_leave_an_epoch_without_a_pair(tmp_path):
    path = write(tmp_path, "s", b"one\ntwo\n")
    corpora = [{"source": path, "target": path, "weight": 0.2}] * 2
    text = {"tokenization": "space"}
    sections = {
        "source": text,
        "target": text,
        "model": {"embedding_size": 2, "hidden_size": 2},
        "data": {"corpora": corpora},
    }
    with pytest.raises(UserError) as caught:
        train(load_config(values=sections), tmp_path / "run")
    found = "got 0.2 of 2 + 0.2 of 2 pairs; choose larger ones"
    assert (
        str(caught.value)
        == f"data.corpora: expected weights that give an epoch at least one pair, {found}"
    )


@pytest.fixture
def numbers_text():
    """Encodes "5 7" as [5, 7, 1]."""
    import tensorflow as tf

    class Numbers:
        def encode(self, texts):
            ids = tf.strings.to_number(tf.strings.split(texts), tf.int32)
            return tf.concat(
                [ids, tf.RaggedTensor.from_tensor(tf.ones([ids.nrows(), 1], tf.int32))], axis=1
            )

    return Numbers()
