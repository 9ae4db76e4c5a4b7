"""A text whose tokens are their own ids, so that what comes out of a dataset can be told by eye; a
text in three parts, and its prepared corpus.
"""

import gzip
import pathlib
import shutil

import pytest
import tensorflow as tf
from text_in_parts import configuration

from rnnsearch_tf.config import END_ID, load_config


class Numbers(tf.Module):
    """Encodes "5 7" as [5, 7, END_ID]."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def encode(self, texts):
        ids = tf.strings.to_number(tf.strings.split(texts), tf.int32)
        ends = tf.fill([ids.nrows(), 1], END_ID)
        return tf.concat([ids, tf.RaggedTensor.from_tensor(ends)], axis=1)


@pytest.fixture
def numbers():
    return Numbers()


@pytest.fixture
def data_config():
    def make(**options):
        return load_config(values={"data": options}).data

    return make


@pytest.fixture
def write(tmp_path):
    """Write bytes or lines to a file, gzipped if its name ends in .gz; gives its path."""

    def make(name, content):
        content = (
            content
            if isinstance(content, bytes)
            else "".join(f"{line}\n" for line in content).encode("utf-8")
        )
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return str(path)

    return make


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """A folder with a text in three parts; the middle one is empty."""
    folder = tmp_path_factory.mktemp("text")
    for side in ("en", "fr"):
        for part, count in enumerate((40, 0, 25)):
            lines = [f"{side}{part} word{k % 7} {'x ' * (k % 5)}\n" for k in range(count)]
            (folder / f"part.{part}.{side}").write_text("".join(lines))
    return folder


@pytest.fixture(scope="module")
def made(text):
    """The folder of its prepared corpus."""
    from rnnsearch_tf.data.prepared.writing import prepare

    prepare(configuration(text), text / "prepared")
    return text / "prepared"


@pytest.fixture
def copy(made, tmp_path):
    return pathlib.Path(shutil.copytree(made, tmp_path / "copy"))
