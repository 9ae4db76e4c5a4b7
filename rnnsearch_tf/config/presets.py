"""The values of each preset, and groups of systems."""

from __future__ import annotations

from typing import Any

_FAITHFUL: dict[str, dict[str, Any]] = {
    "data": dict(batching="paper", batch_size=80, batches_read_ahead=20, shuffle_batches=0),
    "model": dict(
        unit="gru",
        embedding_size=620,
        hidden_size=1000,
        alignment_size=1000,
        maxout_size=500,
        initialization="paper",
        tie_target_embeddings=False,
        scale_embeddings=False,
        embedding_dropout=0.0,
        hidden_dropout=0.0,
        readout_dropout=0.0,
    ),
    "training": dict(
        optimizer="adadelta",
        learning_rate=1.0,
        rho=0.95,
        epsilon=1e-6,
        global_clipnorm=1.0,
        loss_reduction="sum",
        schedule="constant",
        warmup_updates=0,
        label_smoothing=0.0,
        accumulate=1,
    ),
    "search": dict(
        shrinking_beam=True, length_penalty=0.0, minimum_length_ratio=0.5, maximum_length_ratio=3.0
    ),
}

PRESETS = {
    "groundhog": (
        _FAITHFUL
        | {
            "model": (
                _FAITHFUL["model"]
                | dict(output_rank=620, decoder_order="look_generate_update", biases="groundhog")
            ),
            "training": _FAITHFUL["training"] | dict(non_finite_gradient="decay_weights"),
        }
    ),
    "paper": (
        _FAITHFUL
        | {
            "model": (
                _FAITHFUL["model"] | dict(output_rank=None, decoder_order="paper", biases="none")
            )
        }
    ),
}
"""Values that each preset sets; a YAML file may override any of them."""


SYSTEMS = (
    "rnnsearch",
    "rnnencdec",
    "encoder_decoder",
    "deep_lstm",
    "luong",
    "gnmt",
    "stacked",
    "cslm",
)
TRANSLATING = SYSTEMS[:-1]
MAXOUT = ("rnnsearch", "rnnencdec", "encoder_decoder")
LAYERED = ("deep_lstm", "luong", "gnmt", "stacked")

ATTENDING_LAYERS = ("luong", "gnmt")
"""The systems of layers with attention."""

ATTENDING = ("rnnsearch", *ATTENDING_LAYERS)
"""The systems with attention."""
