"""The sizes and systems that are measured, and models, batches, texts and RUNs of them with random
weights.

SMALL is what a small corpus is trained with, PAPER the size of Bahdanau et al. 2015; TINY
serves --quick.
"""

from typing import NamedTuple

import numpy as np

from rnnsearch_tf.config import SPECIAL_TOKENS, Config, load_config, save_config


class Size(NamedTuple):
    """Of models and batches; a length counts the end symbol."""

    vocabulary_size: int  # of either side
    embedding_size: int
    hidden_size: int
    maxout_size: int
    layers: int  # of the systems that have several
    batch_size: int = 80
    source_length: int = 25
    target_length: int = 25
    optimizer: str = "adadelta"


SIZES = {
    "SMALL": Size(
        10_000, 256, 256, 256, layers=2, source_length=15, target_length=15, optimizer="adam"
    ),
    "PAPER": Size(30_000, 620, 1000, 500, layers=4),
    "TINY": Size(50, 8, 8, 8, layers=2, batch_size=4, source_length=5, target_length=5),
}

SYSTEMS = {  # name of the row: options of the model section
    "rnnsearch": {},
    "rnnsearch, LSTM": dict(unit="lstm"),
    "rnnsearch, Gaussian windows": dict(attention="gaussian_window"),
    "rnnencdec": dict(system="rnnencdec"),
    "rnnencdec, LSTM": dict(system="rnnencdec", unit="lstm"),
    "encoder_decoder": dict(system="encoder_decoder"),
    "deep_lstm": dict(system="deep_lstm", reverse_source=True),
    "luong": dict(system="luong", unit="lstm"),
    "luong, input feeding": dict(system="luong", unit="lstm", input_feeding=True),
    "luong, concat, GRU": dict(system="luong", attention_score="concat"),
    "stacked": dict(system="stacked", unit="lstm"),
    "cslm": dict(system="cslm"),
}


def configuration(size, system="rnnsearch", precision="float32", **search) -> Config:
    """Config of a row of SYSTEMS at a Size; ``search`` are options of that section."""
    options = SYSTEMS[system]
    kind = options.get("system", "rnnsearch")
    model = dict(options, embedding_size=size.embedding_size, hidden_size=size.hidden_size)
    if kind in ("rnnsearch", "rnnencdec", "encoder_decoder"):
        model |= dict(maxout_size=size.maxout_size, output_rank=None)
    perceptron = kind == "rnnsearch" and options.get("attention") != "gaussian_window"
    if perceptron or options.get("attention_score") == "concat":
        model |= dict(alignment_size=size.hidden_size)
    if kind in ("deep_lstm", "luong", "stacked"):
        model |= dict(layers=size.layers)
    if kind == "cslm":
        model |= dict(second_hidden_size=size.hidden_size)
    side = dict(vocabulary_size=size.vocabulary_size)
    training = dict(
        precision=precision,
        optimizer=size.optimizer,
        **({"learning_rate": 1e-3} if size.optimizer == "adam" else {}),
    )
    data = dict(
        batch_size=size.batch_size,
        maximum_length=max(size.source_length, size.target_length),
        variants=0.0,
    )
    return load_config(
        values=dict(
            source=side,
            target=dict(side, language="en"),
            data=data,
            model=model,
            training=training,
            search=search,
        )
    )


def fixed_length(source_length, target_length):
    """Options of the search section with which every sentence of one length gets an output of one
    length.
    """
    return dict(
        minimum_length_ratio=(target_length - 1) / source_length,
        maximum_length_ratio=target_length / source_length,
    )


def synthetic_batch(size, generator, source_vocabulary_size=None, target_vocabulary_size=None):
    """{"source_ids", "target_ids"} of random words, no padding: int32 [B, J] and [B, I], each row
    ending with the end symbol.
    """
    batch = {}
    for name, length, words in (
        ("source_ids", size.source_length, source_vocabulary_size),
        ("target_ids", size.target_length, target_vocabulary_size),
    ):
        first = len(SPECIAL_TOKENS)
        ids = generator.integers(
            first, words or size.vocabulary_size, (size.batch_size, length), dtype=np.int32
        )
        ids[:, -1] = SPECIAL_TOKENS.index("</s>")
        batch[name] = ids
    return batch


def word(number):
    """A word of letters for each whole number: 0 → a, 26 → ba."""
    letters = ""
    while True:
        number, letter = divmod(number, 26)
        letters = chr(ord("a") + letter) + letters
        if not number:
            return letters


def vocabulary(size):
    """The tokens of a vocabulary of so many entries, special tokens first."""
    return [*SPECIAL_TOKENS, *(word(number) for number in range(size - len(SPECIAL_TOKENS)))]


def sentences(number, words, tokens, generator):
    """Lines of so many words, drawn from ``tokens``."""
    return [" ".join(generator.choice(tokens, words)) for _ in range(number)]


def write_run(folder, config):
    """A RUN folder with the configuration and random weights, to be loaded; returns its path."""
    from rnnsearch_tf.models import build_model
    from rnnsearch_tf.runs.folder import Run
    from rnnsearch_tf.text.vocabulary import Vocabulary

    run = Run(folder)
    run.path.mkdir(parents=True)
    save_config(config, run.config)
    for side in ("source", "target"):
        Vocabulary(vocabulary(getattr(config, side).vocabulary_size)).save(run.vocabulary(side))
    run.write_weights(
        build_model(config, config.source.vocabulary_size, config.target.vocabulary_size)
    )
    return run.path


def with_lengths(
    size, source_length=None, target_length=None, batch_size=None, vocabulary_size=None
):
    """The Size with other batches and vocabularies, where given."""
    changes = dict(
        source_length=source_length,
        target_length=target_length,
        batch_size=batch_size,
        vocabulary_size=vocabulary_size,
    )
    return size._replace(**{name: value for name, value in changes.items() if value})
