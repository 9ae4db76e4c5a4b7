"""Tiny models of every system: the table that tests of all systems run through.

Each has an independent reference in tests/reference/, of the same name or the one given.
Sizes as in tiny_rnnsearch.py; the options of a row are what makes the system itself.
"""

import dataclasses
import functools

import pytest
import tensorflow as tf
from rnnsearch_tf.config import Config, ModelConfig
from rnnsearch_tf.models import build_model
from tiny_rnnsearch import SIZES, SOURCE_SIZE, TARGET_SIZE, randomize

ORDERS = ("look_generate_update", "paper", "look_update_generate")
ATTENDING = dict(alignment_size=5, maxout_size=3, output_rank=None)

SYSTEMS = {  # name of the row: options of the model section
    "rnnsearch": dict(ATTENDING, system="rnnsearch"),
    "rnnsearch-paper": dict(ATTENDING, decoder_order="paper", biases="none"),
    "rnnsearch-update": dict(ATTENDING, output_rank=2, decoder_order="look_update_generate"),
    "rnnsearch-tied": dict(
        ATTENDING, output_rank=3, tie_target_embeddings=True, scale_embeddings=True
    ),
    "rnnsearch-lstm": dict(
        ATTENDING, output_rank=2, unit="lstm", decoder_order="look_update_generate"
    ),
    "rnnsearch-windows": dict(
        attention="gaussian_window",
        windows=2,
        maxout_size=3,
        output_rank=None,
        decoder_order="paper",
    ),
    "rnnencdec": dict(system="rnnencdec", maxout_size=3, output_rank=None),
    "rnnencdec-lstm": dict(system="rnnencdec", unit="lstm", maxout_size=3, output_rank=2),
    "encoder_decoder": dict(system="encoder_decoder", maxout_size=3, output_rank=2),
    "encoder_decoder-plain": dict(
        system="encoder_decoder", maxout_size=3, output_rank=None, biases="none"
    ),
    "deep_lstm": dict(system="deep_lstm", layers=3, reverse_source=True, peepholes=True),
    "deep_lstm-forward": dict(
        system="deep_lstm",
        layers=2,
        tie_target_embeddings=True,
        scale_embeddings=True,
        hidden_size=3,
    ),
    "stacked-gru": dict(system="stacked", layers=3),
    "stacked-plain": dict(system="stacked", layers=2, biases="none"),
    "stacked-lstm": dict(
        system="stacked", unit="lstm", layers=2, peepholes=True, reverse_source=True
    ),
    "luong-dot": dict(system="luong", attention_score="dot"),
    "luong-general": dict(
        system="luong", attention_score="general", unit="lstm", layers=2, input_feeding=True
    ),
    "luong-concat": dict(
        system="luong",
        attention_score="concat",
        alignment_size=5,
        layers=2,
        input_feeding=True,
        reverse_source=True,
    ),
    "luong-tied": dict(
        system="luong", unit="lstm", peepholes=True, tie_target_embeddings=True, hidden_size=3
    ),
    "cslm": dict(
        system="cslm", scale_embeddings=True, ngram_order=4, hidden_size=12, second_hidden_size=9
    ),
    "cslm-bigram": dict(
        system="cslm", ngram_order=2, hidden_size=12, second_hidden_size=9, biases="none"
    ),
}

ONE_OF_EACH = [
    "rnnsearch",
    "rnnsearch-windows",
    "rnnencdec",
    "encoder_decoder",
    "deep_lstm",
    "stacked-lstm",
    "luong-general",
    "cslm",
]
"""Rows for tests that take seconds each."""

THREE = ["rnnsearch", "deep_lstm", "luong-general"]
"""Rows for tests of what no system does in its own way: with attention and without, the gated unit
and the LSTM, input feeding.
"""


def others_slow(names, often=ONE_OF_EACH):
    """The names as parameters of a test; those that are rows of SYSTEMS and not among ``often`` are
    left to ``make test-all``.
    """
    return [
        pytest.param(
            name, marks=[pytest.mark.slow] if name in SYSTEMS and name not in often else []
        )
        for name in names
    ]


READ_THE_SOURCE = [name for name in SYSTEMS if not name.startswith("cslm")]
"""A language model does not."""


def system_config(name, **options):
    """ModelConfig of a row, with other options on top."""
    sizes = {key: SIZES[key] for key in ("embedding_size", "hidden_size")}
    return ModelConfig(**{**sizes, **SYSTEMS[name], **options})


def fresh_system(name, dtype="float64", **options):
    """The model as ``train`` would begin with it."""
    config = Config(model=system_config(name, **options))
    config = dataclasses.replace(
        config, training=dataclasses.replace(config.training, precision=dtype, seed=0)
    )
    return build_model(config, SOURCE_SIZE, TARGET_SIZE)


def tiny_system(name, dtype="float64", seed=0, scale=0.6, **options):
    """A model whose every weight, biases included, is drawn from N(0, scale²)."""
    return randomize(fresh_system(name, dtype, **options), seed, scale)


@functools.cache
def shared_system(name, dtype="float64"):
    """(a model, its logits of a batch traced once), for tests that leave its weights alone."""
    model = tiny_system(name, dtype)
    ids = tf.TensorSpec([None, None], tf.int32)
    signature = [{"source_ids": ids, "target_ids": ids}]
    return model, tf.function(model.call, autograph=False, input_signature=signature)


def with_hypotheses(state, count=1):
    """A first state for `count` hypotheses a sentence: leaves [B, ...] → [B, K, ...]."""
    return tf.nest.map_structure(lambda leaf: tf.repeat(leaf[:, None], count, axis=1), state)


def scores_of(model):
    """The function (source_ids, target_ids) → TargetScores, traced once."""
    ids = tf.TensorSpec([None, None], tf.int32)
    return tf.function(model.score_targets, autograph=False, input_signature=[ids, ids])
