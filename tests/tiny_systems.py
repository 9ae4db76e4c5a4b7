"""Tiny models of every system: the table that tests of all systems run through.

Each has an independent reference in tests/reference/, of the same name or the one given.
Sizes as in tiny_rnnsearch.py; the options of a row are what makes the system itself.
"""

import dataclasses

import pytest
import tensorflow as tf
from rnnsearch_tf.config import Config, ModelConfig
from rnnsearch_tf.models import build_model
from tiny_rnnsearch import SIZES, SOURCE_SIZE, TARGET_SIZE, randomize

SYSTEMS = {  # name of the row: options of the model section
    "rnnsearch": dict(system="rnnsearch", alignment_size=5, maxout_size=3, output_rank=None),
    "rnnsearch-lstm": dict(
        unit="lstm",
        maxout_size=3,
        output_rank=2,
        alignment_size=5,
        decoder_order="look_update_generate",
    ),
    "rnnsearch-reset-after": dict(
        unit="gru_reset_after", maxout_size=3, output_rank=None, alignment_size=5, biases="all"
    ),
    "rnnsearch-normalized": dict(
        layer_normalization=True, maxout_size=3, output_rank=None, alignment_size=5, biases="none"
    ),
    "rnnsearch-coverage": dict(
        attention="coverage", maxout_size=3, output_rank=None, alignment_size=5, biases="all"
    ),
    "rnnsearch-windows": dict(
        attention="gaussian_window",
        windows=2,
        maxout_size=3,
        output_rank=None,
        decoder_order="paper",
    ),
    "rnnsearch-conditional": dict(
        decoder_order="conditional",
        unit="gru_reset_after",
        first_state="mean",
        readout="tanh",
        biases="all",
        alignment_size=5,
        maxout_size=3,
        output_rank=None,
    ),
    "rnnsearch-transitions": dict(
        decoder_order="conditional",
        decoder_transitions=4,
        encoder_transitions=2,
        layer_normalization=True,
        alignment_size=5,
        maxout_size=3,
        output_rank=2,
    ),
    "rnnsearch-nematus": dict(
        decoder_order="conditional",
        decoder_transitions=3,
        encoder_transitions=2,
        unit="gru_reset_after",
        first_state="mean",
        readout="tanh",
        layer_normalization=True,
        normalized="all",
        tie_target_embeddings=True,
        biases="all",
        alignment_size=5,
        maxout_size=3,
        output_rank=None,
    ),
    "rnnsearch-marian": dict(
        decoder_order="conditional",
        encoder_transitions=2,
        unit="gru_reset_after",
        first_state="mean",
        readout="tanh",
        layer_normalization=True,
        normalized="together",
        biases="all",
        alignment_size=5,
        maxout_size=3,
        output_rank=None,
    ),
    "rnnsearch-conditional-lstm": dict(
        decoder_order="conditional",
        attention="coverage",
        unit="lstm",
        biases="none",
        readout="tanh",
        alignment_size=5,
        maxout_size=3,
        output_rank=2,
    ),
    "rnnencdec": dict(system="rnnencdec", maxout_size=3, output_rank=None),
    "rnnencdec-lstm": dict(
        system="rnnencdec",
        unit="lstm",
        layer_normalization=True,
        biases="all",
        maxout_size=3,
        output_rank=2,
    ),
    "encoder_decoder": dict(system="encoder_decoder", maxout_size=3, output_rank=2),
    "encoder_decoder-all": dict(
        system="encoder_decoder", maxout_size=3, output_rank=None, biases="all"
    ),
    "deep_lstm": dict(system="deep_lstm", layers=3, reverse_source=True, peepholes=True),
    "deep_lstm-forward": dict(
        system="deep_lstm",
        layers=2,
        begin_symbol=True,
        read_end_symbol=False,
        residual=True,
        source_embedding_size=5,
        tie_target_embeddings=True,
        scale_embeddings=True,
        hidden_size=3,
    ),
    "stacked-gru": dict(system="stacked", layers=3, layer_normalization=True),
    "stacked-plain": dict(system="stacked", layers=2, biases="none"),
    "stacked-lstm": dict(
        system="stacked", unit="lstm", layers=2, biases="all", reverse_source=True
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
        biases="all",
    ),
    "luong-joeynmt": dict(
        system="luong",
        unit="gru_reset_after",
        layers=2,
        encoder_directions="layers",
        encoder_size=3,
        source_embedding_size=5,
        bridge="tanh",
        attention_score="concat",
        alignment_size=4,
        input_feeding=True,
        attentional_bias=True,
        begin_symbol=True,
        biases="all",
    ),
    "luong-top": dict(
        system="luong",
        unit="lstm",
        layers=2,
        encoder_directions="layers",
        bridge="top",
        attentional_activation="linear",
        biases="all",
    ),
    "luong-stacks": dict(
        system="luong",
        unit="lstm",
        layers=3,
        encoder_directions="stacks",
        residual=True,
        bridge="alternate",
        read_end_symbol=False,
        begin_symbol=True,
        input_feeding=True,
    ),
    "luong-dense": dict(
        system="luong",
        unit="lstm",
        layers=2,
        encoder_directions="layers",
        residual=True,
        encoder_size=3,
        bridge="dense",
        tie_target_embeddings=True,
        begin_symbol=True,
        hidden_size=3,
    ),
    "luong-dense-tanh": dict(
        system="luong",
        layers=2,
        encoder_layers=1,
        encoder_directions="stacks",
        bridge="dense_tanh",
    ),
    "luong-zero": dict(
        system="luong",
        layers=1,
        encoder_layers=2,
        residual=True,
        bridge="zero",
        read_end_symbol=False,
    ),
    "luong-tied": dict(
        system="luong",
        unit="lstm",
        peepholes=True,
        layer_normalization=True,
        tie_target_embeddings=True,
        hidden_size=3,
    ),
    "luong-state": dict(
        system="luong",
        layers=3,
        encoder_directions="first",
        residual=True,
        first_residual=3,
        input_feeding=True,
        predict_from="state",
        biases="all",
    ),
    "gnmt": dict(
        system="gnmt",
        unit="lstm",
        layers=3,
        encoder_directions="first",
        residual=True,
        first_residual=3,
        attention_score="concat",
        alignment_size=5,
        begin_symbol=True,
        read_end_symbol=False,
    ),
    "gnmt-v2": dict(
        system="gnmt",
        layers=3,
        encoder_layers=4,
        encoder_directions="first",
        residual=True,
        bridge="zero",
        upper_context="current",
        biases="all",
    ),
    "gnmt-both": dict(
        system="gnmt",
        layers=2,
        encoder_layers=1,
        encoder_directions="stacks",
        bridge="alternate",
        layer_normalization=True,
        tie_target_embeddings=True,
        hidden_size=3,
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
    "rnnsearch-coverage",
    "rnnsearch-windows",
    "rnnencdec",
    "encoder_decoder",
    "deep_lstm",
    "stacked-lstm",
    "luong-general",
    "gnmt",
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


def with_hypotheses(state, count=1):
    """A first state for `count` hypotheses a sentence: leaves [B, ...] → [B, K, ...]."""
    return tf.nest.map_structure(lambda leaf: tf.repeat(leaf[:, None], count, axis=1), state)
