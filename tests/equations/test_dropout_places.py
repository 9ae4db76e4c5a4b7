"""Dropout in training, of every system, against the reference with the same factors."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from reference import dropped
from tiny_rnnsearch import PAIRS, batch
from tiny_systems import tiny_system

from rnnsearch_tf.layers.dropout import Dropout

DROPOUTS = dict(embedding_dropout=0.3, hidden_dropout=0.4)
READOUT = dict(readout_dropout=0.25)

CASES = {
    "rnnsearch": dict(READOUT),
    "rnnsearch-paper": dict(READOUT),
    "rnnsearch-update": dict(READOUT, output_rank=None),
    "rnnencdec": dict(READOUT),
    "encoder_decoder": dict(READOUT, output_rank=None),
    "deep_lstm": {},
    "stacked-plain": {},
    "stacked-lstm": {},
    "luong-dot": dict(READOUT, layers=3, reverse_source=True),
    "luong-general": dict(READOUT, layers=3),
    "luong-concat": dict(READOUT),
    "cslm": {},
}


@pytest.fixture
def factors(monkeypatch):
    """Dropout draws from the test's generator, and remembers: {layer: [factors of each call]}."""
    drawn = {}
    generator = np.random.default_rng(11)

    def call(self, inputs, training=False):
        if not training:
            return inputs
        shape = tuple(inputs.shape)
        kept = generator.random(shape) >= self.rate
        drawn.setdefault(self, []).append(kept / (1 - self.rate))
        return inputs * tf.constant(drawn[self][-1], inputs.dtype)

    monkeypatch.setattr(Dropout, "call", call)
    return drawn


def by_role(model, drawn):
    """The factors of a batch, by the names of reference/dropped.py: each [B, positions, ...]."""
    options = model.config
    roles = dict(
        zip(
            ("source", "previous") if model.reads_source else ("previous",), drawn[model.drop_words]
        )
    )
    hidden = (
        ["annotations", "states"]
        if options.system in ("rnnsearch", "rnnencdec", "luong")
        else ["states"]
    )
    roles |= dict(zip(hidden, drawn[model.drop_hidden]))
    assert len(drawn[model.drop_hidden]) == len(hidden)
    readout = getattr(model, "drop_readout", getattr(model.output_layer, "drop", None))
    if readout is not None:
        [roles["readout"]] = drawn[readout]
    layered = options.system in ("deep_lstm", "stacked", "luong")
    for side in ("encoder", "decoder") if layered else ():
        calls = drawn[getattr(model, side).drop]
        # then the factors of all layers are drawn at once
        fed = options.input_feeding and side == "decoder"
        roles[side] = calls[0] if fed else np.stack(calls, axis=2)  # [B, T, layers, n]
    return roles


@pytest.mark.parametrize("case", CASES)
def test_places(case, factors):
    model = tiny_system(case, **DROPOUTS, **CASES[case])
    logits = model(batch(), training=True).numpy()
    weights = model.paper_weights()
    roles = by_role(model, factors)
    options = dataclasses.asdict(model.config)
    options["unit"] = "lstm" if options["system"] == "deep_lstm" else options["unit"]
    assert all((values == 0).any() and (values > 1).any() for values in roles.values())
    for row, (source, target) in enumerate(PAIRS):
        drop = {role: values[row] for role, values in roles.items()}
        expected = dropped.LOGITS[options["system"]](weights, source, target, drop, options)
        np.testing.assert_allclose(logits[row, : len(target)], expected, rtol=0, atol=1e-10)


def test_every_system_has_a_case():
    assert {tiny_system(name).config.system for name in CASES} == set(dropped.LOGITS)
