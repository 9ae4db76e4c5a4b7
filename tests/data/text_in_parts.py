"""Configurations of the text in three parts that the fixture `text` writes."""

from rnnsearch_tf.config import load_config


SPACE = {"tokenization": "space"}


def configuration(folder, tokens=SPACE, **data):
    data = data or dict(train_source="part.*.en", train_target="part.*.fr")
    return load_config(
        values={"source": tokens, "target": tokens, "data": {"folder": str(folder), **data}}
    )
