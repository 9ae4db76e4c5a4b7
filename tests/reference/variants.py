"""RNNencdec and the variants of RNNsearch in float64 NumPy, one sentence at a time, written from
their papers.

    RNNencdec                 Bahdanau et al. 2015, §4.2, A.2: c_i = →h_{T_x}, s_0 = tanh(W_s
                              →h_{T_x})
    reset gate after          Cho et al. 2014a, version 1 (arXiv 1406.1078v1), z as Keras and cuDNN
                              have it
    LSTM units                Hochreiter and Schmidhuber 1997 with the forget gate of Gers et al.
                              2000
    Gaussian windows          Graves 2013 (arXiv 1308.0850), eqs. 46-51; Bahdanau et al. 2015, §6.1
    coverage                  See et al. 2017 (arXiv 1704.04368), eqs. 10-11
    layer normalization       Ba et al. 2016 (arXiv 1607.06450), each product of a unit by itself,
                              no shift
    conditional order         Firat and Cho 2016 (dl4mt, cgru.pdf); Sennrich et al. 2017 (arXiv
                              1703.04357), §2: attention between two units
    deep transition           Miceli Barone et al. 2017 (arXiv 1707.07631), §2.1
    gru_of_marian             Marian's program, type s2s
    tanh readout, mean state  Sennrich et al. 2017, §2

Nothing of the package is imported. As in rnnsearch.py, weights come by symbol, input size
first, and a bias that is absent is zero; a gain that is absent means no normalization.
What the two files share (embedding, deep output, orders) is taken from there.
"""

import numpy as np
from reference import rnnsearch
from reference.rnnsearch import bias, embed, log_softmax, sigmoid

EPSILON = 1e-5  # under the root of the normalization
PROGRAMS = {"all": "Nematus", "together": "Marian"}  # those with this form of the normalization


def normalized(vector, weights, symbol):
    """gain ∘ (vector - mean) / deviation, or the vector as it is where there is no gain of this
    name.
    """
    gain = weights.get(f"{symbol}_gain")
    if gain is None:
        return vector
    centred = vector - vector.mean()
    return gain * centred / np.sqrt((centred**2).mean() + EPSILON)


def normalized_by_nematus(vector, weights, symbols):
    """gain ∘ (vector - mean) / deviation + shift of a vector that consists of the products with
    these symbols side by side; under the root is weights["epsilon"], if given.
    """
    centred = vector - vector.mean()
    gain, shift = (
        np.concatenate([weights[f"{symbol}_{kind}"] for symbol in symbols])
        for kind in ("gain", "shift")
    )
    epsilon = weights.get("epsilon", EPSILON)
    return gain * centred / np.sqrt((centred**2).mean() + epsilon) + shift


def product_of_nematus(x, weights, symbols, biases=()):
    """LN(x W + b), W and b side by side."""
    matrix = np.concatenate([weights[symbol] for symbol in symbols], axis=1)
    b = (
        np.concatenate(
            [bias(weights, name) + np.zeros(weights[symbols[0]].shape[1]) for name in biases]
        )
        if biases
        else 0.0
    )
    return normalized_by_nematus(x @ matrix + b, weights, symbols)


def gru_of_nematus(x, state, weights, prefix="", context=None):
    """The gated unit of cuDNN with layer normalization in the form of Nematus 0.2: the two gates of
    a product together, the candidate by itself, gain and shift, the bias of a product inside.
    """
    (h,) = state
    names = {letter: [f"{prefix}{letter}{gate}" for gate in ("", "_z", "_r")] for letter in "WUC"}
    b = [f"{prefix}b{gate}" for gate in ("", "_z", "_r")]
    b_U = [f"{prefix}b_U{gate}" for gate in ("", "_z", "_r")]
    if x is None:
        entering = bias(weights, b[0])
        gates = np.concatenate([bias(weights, name) + np.zeros_like(h) for name in b[1:]])
    else:
        entering = product_of_nematus(x, weights, names["W"][:1], b[:1])
        gates = product_of_nematus(x, weights, names["W"][1:], b[1:])
    if context is not None:
        entering = entering + product_of_nematus(context, weights, names["C"][:1])
        gates = gates + product_of_nematus(context, weights, names["C"][1:])
    gates = gates + product_of_nematus(h, weights, names["U"][1:], b_U[1:])
    z, r = np.split(sigmoid(gates), 2)
    recurrent = product_of_nematus(h, weights, names["U"][:1], b_U[:1])
    return (z * h + (1.0 - z) * np.tanh(entering + r * recurrent),)


def gru_of_marian(x, state, weights, prefix="", context=None):
    """The gated unit of cuDNN with layer normalization in the form of Marian's type s2s: one
    normalization over the candidate and both gates of a product.
    """
    (h,) = state
    symbols = {
        letter: [f"{prefix}{letter}{gate}" for gate in ("", "_z", "_r")]
        for letter in ("W", "U", "C", "b", "b_U")
    }
    if x is None:
        entering = np.concatenate([bias(weights, b) + np.zeros_like(h) for b in symbols["b"]])
    else:
        entering = product_of_nematus(x, weights, symbols["W"], symbols["b"])
    if context is not None:
        entering = entering + product_of_nematus(context, weights, symbols["C"])
    recurrent = product_of_nematus(h, weights, symbols["U"], symbols["b_U"])
    candidate, z, r = np.split(entering, 3)
    from_state, z_of_state, r_of_state = np.split(recurrent, 3)
    z, r = sigmoid(z + z_of_state), sigmoid(r + r_of_state)
    return (z * h + (1.0 - z) * np.tanh(candidate + r * from_state),)


def total(weights, prefix, suffix, x, recurrent, context):
    """W x + U h + C c + b of one gate (suffix) of a unit: (n,); without x or c if they are None."""
    given = {"W": x, "U": recurrent, "C": context}
    terms = [(letter, vector) for letter, vector in given.items() if vector is not None]
    symbols = [(f"{prefix}{letter}{suffix}", vector) for letter, vector in terms]
    return sum(
        normalized(vector @ weights[symbol], weights, symbol) for symbol, vector in symbols
    ) + bias(weights, f"{prefix}b{suffix}")


def gru(x, state, weights, prefix="", context=None):
    """The gated unit of A.1.1; the state is (h,)."""
    (h,) = state
    z = sigmoid(total(weights, prefix, "_z", x, h, context))
    r = sigmoid(total(weights, prefix, "_r", x, h, context))
    candidate = np.tanh(total(weights, prefix, "", x, r * h, context))
    return ((1.0 - z) * h + z * candidate,)


def gru_reset_after(x, state, weights, prefix="", context=None):
    """r ∘ (U h + b_U) in place of U (r ∘ h), and h = z h' + (1 − z) h̃; the state is (h,)."""
    (h,) = state
    z = sigmoid(total(weights, prefix, "_z", x, h, context))
    r = sigmoid(total(weights, prefix, "_r", x, h, context))
    recurrent = normalized(h @ weights[f"{prefix}U"], weights, f"{prefix}U") + bias(
        weights, f"{prefix}b_U"
    )
    entering = total(weights, prefix, "", x, np.zeros_like(h), context)  # nothing of U
    return (z * h + (1.0 - z) * np.tanh(entering + r * recurrent),)


def lstm(x, state, weights, prefix="", context=None):
    """An LSTM unit; the state is (h, cell). h = o tanh(cell), cell = f cell' + i g."""
    h, cell = state
    enter = sigmoid(total(weights, prefix, "_input", x, h, context))
    keep = sigmoid(total(weights, prefix, "_forget", x, h, context))
    show = sigmoid(total(weights, prefix, "_output", x, h, context))
    cell = keep * cell + enter * np.tanh(total(weights, prefix, "", x, h, context))
    return show * np.tanh(normalized(cell, weights, f"{prefix}cell")), cell


UNITS = {
    "gru": gru,
    "gru_reset_after": gru_reset_after,
    "lstm": lstm,
    "gru_reset_after of Nematus": gru_of_nematus,
    "gru_reset_after of Marian": gru_of_marian,
}


def first(unit, h):
    """A unit's state that shows h; the cell of an LSTM starts at zero."""
    return (h, np.zeros_like(h)) if unit == "lstm" else (h,)


def read(weights, word_ids, unit, direction, transitions):
    """h_j of one direction, (J, n)."""
    prefix = f"encoder.{direction}."
    state = first(unit, np.zeros(weights[f"{prefix}U"].shape[0]))
    outputs = []
    for word_id in word_ids:
        state = UNITS[unit](embed(weights, "source", word_id), state, weights, prefix)
        for k in range(2, transitions + 1):
            state = UNITS[unit](None, state, weights, f"{prefix}{k}.")
        outputs.append(state[0])
    return np.array(outputs)


def normalizes_all(options):
    return options["layer_normalization"] and options["normalized"] in PROGRAMS


def unit_name(options):
    if normalizes_all(options):
        return f"{options['unit']} of {PROGRAMS[options['normalized']]}"
    return options["unit"]


def annotations(weights, source_ids, options):
    """(J, 2n); of RNNencdec the forward half alone, (J, n)."""
    how = unit_name(options), options["encoder_transitions"]
    forward = read(weights, source_ids, how[0], "forward", how[1])
    if options["system"] == "rnnencdec":
        return forward
    backward = read(weights, source_ids[::-1], how[0], "backward", how[1])[::-1]
    return np.concatenate([forward, backward], axis=1)


def initial_state(weights, h, options):
    """s_0 = tanh(W_s ←h_1), or of the mean of the h_j; of RNNencdec tanh(W_s →h_{T_x})."""
    shown = h.mean(axis=0) if options["first_state"] == "mean" else h[0][h.shape[1] // 2 :]
    shown = h[-1] if options["system"] == "rnnencdec" else shown
    if normalizes_all(options):
        return (np.tanh(product_of_nematus(shown, weights, ["W_s"], ["b_s"])),)
    return first(options["unit"], np.tanh(shown @ weights["W_s"] + bias(weights, "b_s")))


def fixed_context(weights, s, h, carried):
    return h[-1], np.zeros(len(h)), carried


def content(weights, s, h, coverage):
    """(c_i, α_i, coverage): with a weight w_c, the energies see Σ_{k<i} α_kj; without it this is
    rnnsearch.align; with a gain, both products are normalized.
    """
    energies = []
    for j in range(len(h)):
        if "W_a_gain" in weights:
            hidden = product_of_nematus(s, weights, ["W_a"])
            hidden = hidden + product_of_nematus(h[j], weights, ["U_a"], ["b_a"])
        else:
            hidden = s @ weights["W_a"] + h[j] @ weights["U_a"] + bias(weights, "b_a")
        if "w_c" in weights:
            hidden = hidden + coverage[j] * weights["w_c"]
        energies.append(np.tanh(hidden) @ weights["v_a"])
    alignment = np.exp(log_softmax(np.array(energies)))
    return alignment @ h, alignment, coverage + alignment


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


def attention(weights, h, options):
    """(function, what it carries at first) of the chosen attention."""
    if options["system"] == "rnnencdec":
        return fixed_context, None
    if options["attention"] == "gaussian_window":
        return gaussian_window, np.zeros(weights["W_kappa"].shape[1])
    return content, np.zeros(len(h))


def is_the_papers(options):
    """Whether rnnsearch.py has these options too."""
    return (
        options["unit"] == "gru"
        and options["attention"] == "content"
        and not options["layer_normalization"]
        and options["decoder_order"] != "conditional"
        and options["encoder_transitions"] == 1
        and options["first_state"] == "backward"
        and options["readout"] == "maxout"
    )


def output_of_variants(weights, state, embedding, context, readout):
    """Logits of the deep output with tanh or maxout units, normalized if there are gains."""
    terms = {"U": state, "V": embedding, "C": context}
    if "U_o_gain" in weights:
        biases = {"U": "b_o", "V": "b_V", "C": "b_C"}
        hidden = sum(
            product_of_nematus(x, weights, [f"{letter}_o"], [biases[letter]])
            for letter, x in terms.items()
        )
    else:
        hidden = sum(x @ weights[f"{letter}_o"] for letter, x in terms.items())
        hidden = hidden + bias(weights, "b_o")
    units = np.tanh(hidden) if readout == "tanh" else hidden.reshape(-1, 2).max(axis=1)
    if "W_o1" in weights:
        units = units @ weights["W_o1"] @ weights["W_o2"]
    else:
        units = units @ weights["W_o"]
    return units + bias(weights, "b_softmax")


def decode(weights, source_ids, target_ids, options):
    """Forced decoding of one pair: logits (I, V), alignments (I, J), units' outputs s_0..s_I (I+1,
    n).

    Args:
        options: system, unit, attention and decoder_order.
    """
    order = options["decoder_order"]
    unit = UNITS[unit_name(options)]
    assert order in (*rnnsearch.ORDERS, "conditional")
    if options["normalized"] == "together":
        weights = {**weights, "epsilon": 1e-9}
    h = annotations(weights, source_ids, options)
    look, carried = attention(weights, h, options)
    state = initial_state(weights, h, options)
    logits = []
    alignments = []
    outputs = [state[0]]
    for i, target_id in enumerate(target_ids):
        y_before = embed(weights, "target", target_ids[i - 1] if i else 0)
        y_entering = (
            embed(weights, "target", target_id) if order == "look_generate_update" else y_before
        )
        if order == "conditional":
            between = unit(y_before, state, weights)
            context, alignment, carried = look(weights, between[0], h, carried)
            new = unit(None, between, weights, "2.", context=context)
            for k in range(3, options["decoder_transitions"] + 1):
                new = unit(None, new, weights, f"{k}.")
        else:
            context, alignment, carried = look(weights, state[0], h, carried)
            new = unit(y_entering, state, weights, context=context)
        shown = new if order in ("look_update_generate", "conditional") else state
        logits.append(output_of_variants(weights, shown[0], y_before, context, options["readout"]))
        alignments.append(alignment)
        state = new
        outputs.append(state[0])
    return np.array(logits), np.array(alignments), np.array(outputs)
