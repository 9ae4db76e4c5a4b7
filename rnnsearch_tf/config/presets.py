"""The values of each preset, and groups of systems."""

from __future__ import annotations

from typing import Any

_FAITHFUL: dict[str, dict[str, Any]] = {
    "data": dict(batching="paper", batch_size=80, variants=0.0),
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
        global_clipnorm=1.0,
        loss_reduction="sum",
        schedule="constant",
        warmup_updates=0,
        label_smoothing=0.0,
    ),
    "search": dict(
        shrinking_beam=True, length_penalty=0.0, minimum_length_ratio=0.5, maximum_length_ratio=3.0
    ),
}

_GROUNDHOG: dict[str, dict[str, Any]] = _FAITHFUL | {
    "model": (
        _FAITHFUL["model"]
        | dict(output_rank=620, decoder_order="look_generate_update", biases="groundhog")
    ),
    "training": _FAITHFUL["training"] | dict(non_finite_gradient="decay_weights"),
}

_PHRASES = dict(vocabulary_size=15_001)  # 14,998 words: n_sym_source of prototype_phrase_state

PRESETS = {
    "groundhog": _GROUNDHOG,
    "groundhog_phrases": (
        {"source": _PHRASES, "target": _PHRASES}
        | _GROUNDHOG
        | {
            "data": _GROUNDHOG["data"] | dict(batch_size=64),
            "model": (
                _GROUNDHOG["model"] | dict(system="rnnencdec", embedding_size=100, output_rank=100)
            ),
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
"""Values that each preset sets; a YAML file may override any of them.

- groundhog: prototype_search_state of the authors' state.py, for RNNsearch (Bahdanau et al. 2015).
- groundhog_phrases: prototype_phrase_state, "the configuration used in the paper" Cho et al. 2014a.
  It is RNNencdec: the layers V and O_w of the paper's Appendix A are not in the program, recurrent
  matrices are orthogonal without the paper's factor of 0.01, and pairs are sorted by length.
- paper: Appendix A of Bahdanau et al. 2015 as printed.
"""


SYSTEMS = (
    "rnnsearch",
    "rnnencdec",
    "encoder_decoder",
    "deep_lstm",
    "luong",
    "stacked",
    "cslm",
)
TRANSLATING = SYSTEMS[:-1]
MAXOUT = ("rnnsearch", "rnnencdec", "encoder_decoder")
LAYERED = ("deep_lstm", "luong", "stacked")

ATTENDING = ("rnnsearch", "luong")
"""The systems with attention."""
