"""Deep LSTM, stacked network and Luong's attention in float64 NumPy, one sentence at a time.

    deep LSTM          Sutskever, Vinyals, Le 2014, §2 and §3.4; its units: Graves 2013, eqs. 7-11
    stacked network    Graves 2013, §2: x_t to every layer, every layer to the output
    Luong's attention  Luong, Pham, Manning 2015, §3: e_j = score(s_t, h_j), ŝ_t =
        tanh(W_c [c_t ; s_t]), p = softmax(W_s ŝ_t)

Nothing of the package is imported. Weights come by symbol, input size first; layer k of the
encoder has encoder.k.W, of the decoder decoder.k.W. What is absent is zero. The units are those of
variants.py.
"""

import numpy as np
from reference.rnnsearch import bias, embed, log_softmax
from reference.variants import UNITS


def zeros(w, side, options):
    """The states of all layers before the first word."""
    parts = 2 if options["unit"] == "lstm" else 1
    return [(np.zeros(w[f"{side}.{k + 1}.U"].shape[0]),) * parts for k in range(options["layers"])]


def layers(w, side, x, states, options):
    """One position of all layers; with skips x goes to every layer."""
    below = None
    result = []
    for k, state in enumerate(states):
        if below is None:
            read = x
        else:
            read = np.concatenate([x, below]) if options["system"] == "stacked" else below
        state = UNITS[options["unit"]](read, state, w, f"{side}.{k + 1}.")
        below = state[0]
        result.append(state)
    return result


def encode(w, source_ids, options):
    """(top states h_j (J, n) in the order of the words, the states of all layers after the last
    read).
    """
    words = len(source_ids) - 1
    order = list(source_ids)
    if options["reverse_source"]:
        order[:words] = reversed(order[:words])
    states = zeros(w, "encoder", options)
    top = []
    for word in order:
        states = layers(w, "encoder", embed(w, "source", word), states, options)
        top.append(states[-1][0])
    if options["reverse_source"]:
        top[:words] = reversed(top[:words])
    return np.array(top), states


def score(w, s, h, options):
    """e_j of one annotation, by the three formulas."""
    if options["attention_score"] == "dot":
        return s @ h
    if options["attention_score"] == "general":
        return s @ w["W_a"] @ h
    return np.tanh(np.concatenate([s, h]) @ w["W_a"]) @ w["v_a"]


def look(w, s, annotations, options):
    """(ŝ_t, alignment) of Luong's attention for a state s_t."""
    alignment = np.exp(log_softmax(np.array([score(w, s, h, options) for h in annotations])))
    context = sum(share * h for share, h in zip(alignment, annotations))
    return np.tanh(np.concatenate([context, s]) @ w["W_c"]), alignment


def decode(w, source_ids, target_ids, options):
    """Forced decoding of one pair: (logits (I, V), alignments (I, J))."""
    annotations, states = encode(w, source_ids, options)
    attentional = np.zeros(w["W_c"].shape[1]) if "W_c" in w else None
    logits = []
    alignments = []
    for i in range(len(target_ids)):
        x = embed(w, "target", target_ids[i - 1] if i else 0)
        if options["input_feeding"]:
            x = np.concatenate([x, attentional])
        states = layers(w, "decoder", x, states, options)
        alignment = np.zeros(len(source_ids))
        if options["system"] == "luong":
            attentional, alignment = look(w, states[-1][0], annotations, options)
            row = attentional @ w["W_s"]
        elif options["system"] == "stacked":
            n = len(states[0][0])
            row = sum(state[0] @ w["W_hy"][k * n : (k + 1) * n] for k, state in enumerate(states))
        else:
            row = states[-1][0] @ w["W_o"]
        logits.append(row + bias(w, "b_softmax"))
        alignments.append(alignment)
    return np.array(logits), np.array(alignments)
