"""RNNencdec and the variants of RNNsearch in float64 NumPy, one sentence at a time, written from
their papers.

    RNNencdec           Bahdanau et al. 2015, §4.2, A.2: c_i = →h_{T_x}, s_0 = tanh(W_s →h_{T_x})
    LSTM units          Hochreiter and Schmidhuber 1997 with the forget gate of Gers et al. 2000;
                        peepholes: Graves 2013, eqs. 7-11
    Gaussian windows    Graves 2013 (arXiv 1308.0850), eqs. 46-51; Bahdanau et al. 2015, §6.1

Nothing of the package is imported. As in rnnsearch.py, weights come by symbol, input size
first, and a bias that is absent is zero. What the two files share (embedding, gated unit, content
attention, deep output) is taken from there.
"""

import numpy as np
from reference import rnnsearch
from reference.rnnsearch import bias, embed, sigmoid


def gru(x, state, weights, prefix="", context=None):
    """The gated unit of A.1.1; the state is (h,)."""
    return (rnnsearch.gated_unit(x, state[0], weights, prefix, context),)


def lstm(x, state, weights, prefix="", context=None):
    """An LSTM unit; the state is (h, cell). Without weights p the gates do not see the cell."""
    h, cell = state

    def total(gate):
        value = x @ weights[f"{prefix}W{gate}"] + h @ weights[f"{prefix}U{gate}"]
        value = value + bias(weights, f"{prefix}b{gate}")
        return value if context is None else value + context @ weights[f"{prefix}C{gate}"]

    i = sigmoid(total("_input") + bias(weights, f"{prefix}p_input") * cell)
    f = sigmoid(total("_forget") + bias(weights, f"{prefix}p_forget") * cell)
    cell = f * cell + i * np.tanh(total(""))
    o = sigmoid(total("_output") + bias(weights, f"{prefix}p_output") * cell)
    return o * np.tanh(cell), cell


UNITS = {"gru": gru, "lstm": lstm}


def first(unit, h):
    """A unit's state that shows h; the cell of an LSTM starts at zero."""
    return (h, np.zeros_like(h)) if unit == "lstm" else (h,)


def read(weights, word_ids, unit, direction):
    """h_j of one direction, (J, n)."""
    prefix = f"encoder.{direction}."
    state = first(unit, np.zeros(weights[f"{prefix}U"].shape[0]))
    outputs = []
    for word_id in word_ids:
        state = UNITS[unit](embed(weights, "source", word_id), state, weights, prefix)
        outputs.append(state[0])
    return np.array(outputs)


def annotations(weights, source_ids, options):
    """(J, 2n); of RNNencdec the forward half alone, (J, n)."""
    forward = read(weights, source_ids, options["unit"], "forward")
    if options["system"] == "rnnencdec":
        return forward
    backward = read(weights, source_ids[::-1], options["unit"], "backward")[::-1]
    return np.concatenate([forward, backward], axis=1)


def fixed_context(weights, s, h, carried):
    return h[-1], np.zeros(len(h)), carried


def content(weights, s, h, carried):
    alignment = rnnsearch.align(weights, s, h)
    return rnnsearch.attend(alignment, h), alignment, carried


def gaussian_window(weights, s, h, kappa):
    """(c_i, φ_i, κ_i): φ_ij = Σ_k α_k exp(-β_k (κ_k - j)²), positions counted from 1, not
    normalized.
    """
    alpha, beta, step = (
        np.exp(s @ weights[f"W_{name}"] + bias(weights, f"b_{name}"))
        for name in ("alpha", "beta", "kappa")
    )
    kappa = kappa + step
    window = np.array([sum(alpha * np.exp(-beta * (kappa - j) ** 2)) for j in range(1, len(h) + 1)])
    return window @ h, window, kappa


def attention(weights, options):
    """(function, what it carries at first) of the chosen attention."""
    if options["system"] == "rnnencdec":
        return fixed_context, None
    if options["attention"] == "gaussian_window":
        return gaussian_window, np.zeros(weights["W_kappa"].shape[1])
    return content, None


def decode(weights, source_ids, target_ids, options):
    """Forced decoding of one pair: logits (I, V), alignments (I, J).

    Args:
        options: system, unit, attention and decoder_order.
    """
    order = options["decoder_order"]
    unit = UNITS[options["unit"]]
    assert order in rnnsearch.ORDERS
    h = annotations(weights, source_ids, options)
    look, carried = attention(weights, options)
    if options["system"] == "rnnencdec":
        shown = np.tanh(h[-1] @ weights["W_s"] + bias(weights, "b_s"))
    else:
        shown = rnnsearch.initial_state(weights, h)
    state = first(options["unit"], shown)
    logits = []
    alignments = []
    for i, target_id in enumerate(target_ids):
        y_before = embed(weights, "target", target_ids[i - 1] if i else 0)
        y_entering = (
            embed(weights, "target", target_id) if order == "look_generate_update" else y_before
        )
        context, alignment, carried = look(weights, state[0], h, carried)
        new = unit(y_entering, state, weights, context=context)
        seen = new if order == "look_update_generate" else state
        logits.append(rnnsearch.deep_output(weights, seen[0], y_before, context))
        alignments.append(alignment)
        state = new
    return np.array(logits), np.array(alignments)
