"""Where dropout stands in each system, in float64 NumPy: one sentence, every factor (0 or 1/(1−p))
given.

Dropout is in no paper but one: Zaremba et al. 2014 put it between the layers of a stack and on
what leaves it, and not on what goes from one position to the next; that is the rule here.

    words        E x_j and E y_{i−1}, wherever they enter
    annotations  h_j as attention, or the fixed context, sees them; s_0 is made of them as they were
    states       s_i on its way to the output (with Luong's attention: to the attention); the
                 recurrence keeps s_i itself
    readout      t_i after maxout, ŝ_t on its way to the output; what is fed back is ŝ_t itself
    layers       of a stack: the state of a layer on its way to the next, each layer by factors of
                 its own

Nothing of the package is imported. Weights as in rnnsearch.py, encoder_decoder.py, layered.py.
"""

import numpy as np
from reference import encoder_decoder, layered, rnnsearch
from reference.rnnsearch import bias, embed
from reference.variants import UNITS


def words(w, side, ids, factors):
    """Dropped embeddings, a list; id 0 is no word."""
    return [embed(w, side, word) * factor for word, factor in zip(ids, factors)]


def read(w, direction, x):
    state = np.zeros(w[f"encoder.{direction}.U"].shape[0])
    states = []
    for vector in x:
        state = rnnsearch.gated_unit(vector, state, w, f"encoder.{direction}.")
        states.append(state)
    return states


def deep_output(w, state, word, context, factor):
    """rnnsearch.deep_output with the maxout units dropped."""
    summed = state @ w["U_o"] + bias(w, "b_o") + word @ w["V_o"] + context @ w["C_o"]
    readout = summed.reshape(-1, 2).max(axis=1) * factor
    return readout @ w["W_o"] + bias(w, "b_softmax")


def rnnsearch_logits(w, source_ids, target_ids, drop, options):
    """RNNsearch and RNNencdec: (I, V)."""
    x = words(w, "source", source_ids, drop["source"])
    y = words(w, "target", [0, *target_ids[:-1]], drop["previous"])
    forward = read(w, "forward", x)
    if options["system"] == "rnnencdec":
        shown = forward[-1]
        annotations = np.array(forward)
        # padding on the right keeps the last state; it is taken at the batch's end
        fixed = forward[-1] * drop["annotations"][-1]
    else:
        backward = read(w, "backward", x[::-1])[::-1]
        shown = backward[0]
        annotations = np.concatenate([forward, backward], axis=1)
    annotations = annotations * drop["annotations"][: len(annotations)]
    state = np.tanh(shown @ w["W_s"] + bias(w, "b_s"))
    logits = []
    for i in range(len(target_ids)):
        look = options["system"] == "rnnsearch"
        context = rnnsearch.align(w, state, annotations) @ annotations if look else fixed
        if options["decoder_order"] == "look_update_generate":
            state = rnnsearch.gated_unit(y[i], state, w, context=context)
        logits.append(deep_output(w, state * drop["states"][i], y[i], context, drop["readout"][i]))
        if options["decoder_order"] == "look_generate_update" and i + 1 < len(target_ids):
            state = rnnsearch.gated_unit(y[i + 1], state, w, context=context)
        if options["decoder_order"] == "paper":
            state = rnnsearch.gated_unit(y[i], state, w, context=context)
    return np.array(logits)


def encoder_decoder_logits(w, source_ids, target_ids, drop, options):
    """Cho et al. 2014a: (I, V)."""
    x = words(w, "source", source_ids, drop["source"])
    y = words(w, "target", [0, *target_ids[:-1]], drop["previous"])
    h = np.zeros(w["V"].shape[0])
    for vector in x:
        h = encoder_decoder.unit(w, "encoder", vector, h)
    c = np.tanh(h @ w["V"] + bias(w, "b_V"))
    mean = sum(x) / len(x)
    h = np.tanh(c @ w["V_prime"] + bias(w, "b_V_prime"))
    logits = []
    for i in range(len(target_ids)):
        h = encoder_decoder.unit(w, "decoder", y[i], h, c)
        s = (
            (h * drop["states"][i]) @ w["O_h"]
            + bias(w, "b_o")
            + y[i] @ w["O_y"]
            + c @ w["O_c"]
            + mean @ w["O_w"]
        )
        logits.append(
            (s.reshape(-1, 2).max(axis=1) * drop["readout"][i]) @ w["G"] + bias(w, "b_softmax")
        )
    return np.array(logits)


def stack(w, side, x, states, factors, options):
    """One position of all layers; factors (layers, n) are on what goes from a layer to the next."""
    result = []
    below = None
    for k, state in enumerate(states):
        read_here = (
            x
            if below is None
            else np.concatenate([x, below])
            if options["system"] == "stacked"
            else below
        )
        prefix = f"{side}.{k + 1}."
        state = UNITS[options["unit"]](read_here, state, w, prefix)
        below = state[0] * factors[k]
        result.append(state)
    return result


def layered_logits(w, source_ids, target_ids, drop, options):
    """Deep LSTM, stacked network, Luong's attention: (I, V)."""
    *inner, end = range(len(source_ids))
    order = [*reversed(inner), end] if options["reverse_source"] else [*inner, end]
    x = words(w, "source", [source_ids[j] for j in order], drop["source"])
    states = layered.zeros(w, "encoder", options)
    top = [None] * len(order)
    for place, j in enumerate(order):
        states = stack(w, "encoder", x[place], states, drop["encoder"][place], options)
        top[j] = states[-1][0]
    y = words(w, "target", [0, *target_ids[:-1]], drop["previous"])
    if options["system"] == "luong":
        annotations = np.array(top) * drop["annotations"][: len(top)]
        attentional = np.zeros(w["W_c"].shape[1])
    logits = []
    for i in range(len(target_ids)):
        entering = np.concatenate([y[i], attentional]) if options["input_feeding"] else y[i]
        states = stack(w, "decoder", entering, states, drop["decoder"][i], options)
        if options["system"] == "luong":
            attentional, _ = layered.look(
                w, states[-1][0] * drop["states"][i], annotations, options
            )
            row = (attentional * drop["readout"][i]) @ w["W_s"]
        elif options["system"] == "stacked":
            row = (np.concatenate([state[0] for state in states]) * drop["states"][i]) @ w["W_hy"]
        else:
            row = (states[-1][0] * drop["states"][i]) @ w["W_o"]
        logits.append(row + bias(w, "b_softmax"))
    return np.array(logits)


def cslm_logits(w, source_ids, target_ids, drop, options):
    """The language model: every word by one factor wherever it stands among the words before: (I,
    V).
    """
    before = options["ngram_order"] - 1
    y = [np.zeros(w["E_target"].shape[1])] * before + words(
        w, "target", target_ids, drop["previous"]
    )
    logits = []
    for i in range(len(target_ids)):
        first = np.maximum(0, np.concatenate(y[i : i + before]) @ w["W_1"] + bias(w, "b_1"))
        second = np.maximum(0, first @ w["W_2"] + bias(w, "b_2")) * drop["states"][i]
        logits.append(second @ w["W_o"] + bias(w, "b_softmax"))
    return np.array(logits)


LOGITS = {
    "rnnsearch": rnnsearch_logits,
    "rnnencdec": rnnsearch_logits,
    "encoder_decoder": encoder_decoder_logits,
    "deep_lstm": layered_logits,
    "stacked": layered_logits,
    "luong": layered_logits,
    "cslm": cslm_logits,
}
