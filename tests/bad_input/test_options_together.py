"""Options that do not fit each other: sizes and orders of a model."""

import pytest
from rnnsearch_tf.config import load_config
from rnnsearch_tf.errors import UsageError


@pytest.mark.parametrize(
    "overrides, message",
    [
        (
            "model.system=rnnencdec model.decoder_order=conditional",
            "model.decoder_order: conditional",
        ),
        (
            "model.system=luong model.encoder_directions=layers",
            r"model.bridge: copy needs encoder states of 1000 units.*got 2000",
        ),
        (
            "model.system=luong model.layers=2 model.encoder_layers=1",
            "model.bridge: copy needs 2 layers of the encoder beside model.layers=2, got 1",
        ),
        (
            "model.system=luong model.bridge=alternate model.encoder_directions=stacks"
            " model.layers=3",
            None,
        ),
        (
            "model.system=luong model.bridge=alternate model.layers=3",
            "model.bridge: alternate needs encoder states of 2000 units",
        ),
        (
            "model.system=gnmt model.encoder_directions=first",
            "model.encoder_directions: first needs at least 2 layers of the encoder, got 1",
        ),
        ("model.system=gnmt model.encoder_directions=first model.layers=2", None),
        (
            "model.system=gnmt model.encoder_directions=first model.layers=2"
            " model.bridge=alternate",
            "model.bridge: alternate needs encoder states of 2000 units",
        ),
        (
            "model.system=luong model.bridge=zero model.attention_score=dot"
            " model.encoder_directions=stacks",
            "model.attention_score: dot needs annotations of model.hidden_size=1000 units",
        ),
        (
            "model.system=deep_lstm model.layers=2 model.residual=true model.first_residual=3",
            "model.first_residual: expected at most the number of layers, model.layers = 2, got 3",
        ),
        ("model.system=deep_lstm model.layers=2 model.residual=true", None),
    ],
)
def test_sizes_that_do_not_fit_each_other(overrides, message):
    if message is None:
        load_config(overrides=overrides.split())
        return
    with pytest.raises(UsageError, match=message):
        load_config(overrides=overrides.split())
