"""The sizes and systems that are measured, and models, batches, texts and RUNs of them with random
weights.

SMALL is what a small corpus is trained with, PAPER the size of Bahdanau et al. 2015; TINY
serves --quick.
"""

from typing import NamedTuple

import numpy as np

from rnnsearch_tf.config import PAD_ID, SPECIAL_TOKENS, load_config, save_config
from rnnsearch_tf.models import build_model
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.search import beam
from rnnsearch_tf.text.vocabulary import Vocabulary


class Size(NamedTuple):
    """Of models and batches."""

    vocabulary_size: int  # of either side
    embedding_size: int
    hidden_size: int
    maxout_size: int
    layers: int  # of the systems that have several
    batch_size: int = 80
    length: int = 25  # of either side, end symbol counted
    optimizer: str = "adadelta"


SIZES = {
    "SMALL": Size(10_000, 256, 256, 256, layers=2, length=15, optimizer="adam"),
    "PAPER": Size(30_000, 620, 1000, 500, layers=4),
    "TINY": Size(50, 8, 8, 8, layers=2, batch_size=4, length=5),
}

SYSTEMS = {  # name of the row: options of the model section
    "rnnsearch": {},
    "rnnsearch, LSTM": dict(unit="lstm"),
    "rnnsearch, Gaussian windows": dict(attention="gaussian_window"),
    "rnnencdec": dict(system="rnnencdec"),
    "encoder_decoder": dict(system="encoder_decoder"),
    "deep_lstm": dict(system="deep_lstm", reverse_source=True),
    "luong": dict(system="luong", unit="lstm"),
    "luong, input feeding": dict(system="luong", unit="lstm", input_feeding=True),
    "stacked": dict(system="stacked", unit="lstm"),
    "cslm": dict(system="cslm"),
}


def configuration(size, system="rnnsearch", precision="float32", **search):
    """Config of a row of SYSTEMS at a Size; ``search`` are options of that section."""
    options = SYSTEMS[system]
    kind = options.get("system", "rnnsearch")
    model = dict(options, embedding_size=size.embedding_size, hidden_size=size.hidden_size)
    if kind in ("rnnsearch", "rnnencdec", "encoder_decoder"):
        model |= dict(maxout_size=size.maxout_size, output_rank=None)
    if kind == "rnnsearch" and "attention" not in options:
        model |= dict(alignment_size=size.hidden_size)
    if kind in ("deep_lstm", "luong", "stacked"):
        model |= dict(layers=size.layers)
    if kind == "cslm":
        model |= dict(second_hidden_size=size.hidden_size)
    side = dict(tokenization="space", vocabulary_size=size.vocabulary_size)
    training = dict(precision=precision, optimizer=size.optimizer)
    if size.optimizer == "adam":
        training |= dict(learning_rate=1e-3)
    return load_config(
        values=dict(
            source=side,
            target=dict(side, language="en"),
            data=dict(batch_size=size.batch_size, maximum_length=size.length, variants=0.0),
            model=model,
            training=training,
            search=search,
        )
    )


def fixed_length(size):
    """Options of the search section with which, in this process, every sentence of the size's
    length gets an output of that length.
    """
    beam.ROOM = 0  # no longer than the source
    return dict(minimum_length_ratio=(size.length - 0.5) / size.length, maximum_length_ratio=1.0)


def random_batches(size, number, varied=False):
    """List of {"source_ids", "target_ids"}: int32 [B, J] and [B, I] of random words, each row
    ending with the end symbol. ``varied``: padded, of lengths like those of captions, 15 ± 4, the
    target's close by.
    """
    generator = np.random.default_rng(1)
    batches = []
    for _ in range(number):
        source = target = np.full(size.batch_size, size.length)
        if varied:
            source = generator.normal(source, 4).round().clip(4, 2 * size.length).astype(int)
            target = generator.normal(source, 2).round().clip(4, 2 * size.length).astype(int)
        lengths = {"source_ids": source, "target_ids": target}
        batches.append(
            {name: _random_rows(size, rows, generator) for name, rows in lengths.items()}
        )
    return batches


def _random_rows(size, lengths, generator):
    shape = len(lengths), max(lengths)
    words = generator.integers(len(SPECIAL_TOKENS), size.vocabulary_size, shape, dtype=np.int32)
    places, ends = np.arange(max(lengths)), lengths[:, None] - 1
    words[places == ends] = SPECIAL_TOKENS.index("</s>")
    words[places > ends] = PAD_ID
    return words


def vocabulary(size):
    """The tokens of a vocabulary of a Size, special tokens first."""
    words = (f"w{number}" for number in range(size.vocabulary_size - len(SPECIAL_TOKENS)))
    return [*SPECIAL_TOKENS, *words]


def sentences(size, number):
    """Lines of random words, of the size's length."""
    words = vocabulary(size)[len(SPECIAL_TOKENS) :]
    generator = np.random.default_rng(1)
    return [" ".join(generator.choice(words, size.length - 1)) for _ in range(number)]


def write_run(folder, size, config):
    """A RUN folder with the configuration and random weights, to be loaded; returns its path."""
    run = Run(folder)
    run.path.mkdir(parents=True)
    save_config(config, run.config)
    for side in ("source", "target"):
        Vocabulary(vocabulary(size)).save(run.vocabulary(side))
    run.write_weights(build_model(config, size.vocabulary_size, size.vocabulary_size))
    return run.path
