"""Checkpoints of Nematus's TensorFlow versions (0.3 to 0.5 and later), read under the names of the
arrays of its Theano form.

The model is that of the Theano form, but for the second and later transitions of the encoder: they
have no bias, unless the weights come from a model of the Theano form (``theano_tf_convert.py``),
whose options then stand beside them. Models of before deep transition, and converted ones, have
other names of variables. With exponential_smoothing the program translates with the averages of
the weights, which stand beside them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from rnnsearch_tf.extras.importing.arrays import ArrayFile

ARRAYS = {
    "Wemb": "encoder/embedding/embeddings",
    "Wemb_dec": "decoder/embedding/embeddings",
    "decoder_U_att": "decoder/base/attention/hidden_to_score",
    "decoder_W_comb_att": "decoder/base/attention/state_to_hidden",
    "decoder_W_comb_att_lnb": "decoder/base/attention/hidden_state_norm/new_mean",
    "decoder_W_comb_att_lns": "decoder/base/attention/hidden_state_norm/new_std",
    "decoder_Wc_att": "decoder/base/attention/context_to_hidden",
    "decoder_Wc_att_lnb": "decoder/base/attention/hidden_context_norm/new_mean",
    "decoder_Wc_att_lns": "decoder/base/attention/hidden_context_norm/new_std",
    "decoder_b_att": "decoder/base/attention/hidden_bias",
}
LAYERS = {
    "ff_state": "decoder/initial_state_constructor",
    "ff_logit": "decoder/next_word_predictor/hidden_to_logits",
    "ff_logit_lstm": "decoder/next_word_predictor/state_to_hidden",
    "ff_logit_prev": "decoder/next_word_predictor/prev_emb_to_hidden",
    "ff_logit_ctx": "decoder/next_word_predictor/attended_context_to_hidden",
}
LAYER_ENDS = {"W": "W", "b": "b", "ln_b": "new_mean", "ln_s": "new_std"}
UNITS = {
    "encoder": "encoder/forward-stack/level0/gru",
    "encoder_r": "encoder/backward-stack/level0/gru",
    "decoder": "decoder/base/gru",
}
UNIT_PARTS = {  # the variable, and the scope of the normalization of its product
    "U": ("state_to_gates", "gates_state_norm"),
    "Ux": ("state_to_proposal", "proposal_state_norm"),
    "W": ("input_to_gates", "gates_x_norm"),
    "Wx": ("input_to_proposal", "proposal_x_norm"),
    "b": ("gates_bias", ""),
    "bx": ("proposal_bias", ""),
}
AFTER_ATTENTION = {"U_nl": "U", "Ux_nl": "Ux", "Wc": "W", "Wcx": "Wx", "b_nl": "b", "bx_nl": "bx"}
"""Names of the parts of a unit of the decoder that reads no word."""

_LAYER = re.compile(rf"({'|'.join(LAYERS)})_({'|'.join(LAYER_ENDS)})")
_UNIT = re.compile(
    rf"({'|'.join(UNITS)})_({'|'.join([*UNIT_PARTS, *AFTER_ATTENTION])})"
    r"(?:_drt_(\d+))?(?:_ln([bs]))?"
)


def variable_of(name: str) -> str:
    """The variable of an array of the Theano form."""
    if layer := _LAYER.fullmatch(name):
        return f"{LAYERS[layer[1]]}/{LAYER_ENDS[layer[2]]}"
    unit = _UNIT.fullmatch(name)
    if unit is None:
        return ARRAYS.get(name, name)
    number = int(unit[3] or 0) + (unit[2] in AFTER_ATTENTION)
    variable, norm = UNIT_PARTS[AFTER_ATTENTION.get(unit[2], unit[2])]
    if unit[4]:
        variable = f"{norm}/{LAYER_ENDS['ln_' + unit[4]]}"
    return f"{UNITS[unit[1]]}{number}/{variable}"


def before_deep_transition(variable: str) -> str:
    """The name that early versions gave to a variable."""
    for scope, earlier in (
        ("encoder/forward-stack/level0/gru0/", "encoder/forwardEncoder/"),
        ("encoder/backward-stack/level0/gru0/", "encoder/backwardEncoder/"),
        ("decoder/base/gru0/", "decoder/"),
        ("decoder/base/attention/", "decoder/"),
        ("decoder/embedding/", "decoder/y_embeddings_layer/"),
    ):
        if variable.startswith(scope):
            return earlier + variable.removeprefix(scope)
    scope, second, rest = variable.partition("/base/gru1/")
    if not second:
        return variable
    first, slash, last = rest.partition("/")
    return f"{scope}/{first}_1{slash}{last}"


def variable_names(arrays: ArrayFile, options: Mapping[str, Any]) -> Callable[[str], str]:
    """The function from a name of the Theano form to the variable of a checkpoint.

    Args:
        arrays: the checkpoint.
        options: those of the model.
    """
    early = any(name.startswith("encoder/forwardEncoder/") for name in arrays.shapes)
    end = "_smooth" * is_smoothed(options)

    def stored(name: str) -> str:
        variable = variable_of(name)
        return (before_deep_transition(variable) if early else variable) + end

    return stored


def is_smoothed(options: Mapping[str, Any]) -> bool:
    """Whether averages of the weights stand beside them."""
    factor = options.get("exponential_smoothing")
    return isinstance(factor, (int, float)) and factor > 0
