"""A text whose tokens are their own ids, so that what comes out of a dataset can be told by eye."""

import gzip
import types

import pytest
import tensorflow as tf

from rnnsearch_tf.config import END_ID, load_config


class Numbers(tf.Module):
    """Encodes "5 7" as [5, 7, END_ID]."""

    def __init__(self):
        super().__init__()
        self.vocabulary = types.SimpleNamespace(size=1000)

    def encode(self, texts):
        ids = tf.strings.to_number(tf.strings.split(texts), tf.int32)
        ends = tf.fill([ids.nrows(), 1], END_ID)
        return tf.concat([ids, tf.RaggedTensor.from_tensor(ends)], axis=1)


@pytest.fixture(scope="session")
def numbers():
    return Numbers()


@pytest.fixture
def data_config():
    def make(**options):
        return load_config(values={"data": {"variants": 0, **options}}).data

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
