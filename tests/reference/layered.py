"""Deep LSTM, stacked network and Luong's attention in float64 NumPy, one sentence at a time.

    deep LSTM          Sutskever, Vinyals, Le 2014, §2 and §3.4; its units: Graves 2013, eqs. 7-11
    stacked network    Graves 2013, §2: x_t to every layer, every layer to the output
    Luong's attention  Luong, Pham, Manning 2015, §3: e_j = score(s_t, h_j), ŝ_t =
        tanh(W_c [c_t ; s_t]), p = softmax(W_s ŝ_t)

    two directions     each layer reads both of the layer below (PyTorch's nn.LSTM), or one stack of
                       each direction (tensorflow/nmt)
    bridges            Joey NMT 2.3 (top, tanh), tensorflow/nmt (alternate), OpenNMT-tf 2.32 (dense)
    residual layers    Wu et al. 2016: each layer from first_residual on adds its input to its
                       output
    GNMT               Wu et al. 2016 as tensorflow/nmt's gnmt_model.py writes it: the encoder's
                       first layer reads both ways; the decoder's first layer attends, and every
                       layer reads the context of the position before (gnmt_v2: those above the
                       first that of the same position)

Nothing of the package is imported. Weights come by symbol, input size first; layer k of the
encoder has encoder.k.W, of the decoder decoder.k.W. What is absent is zero. The gated unit,
with the reset gate before or after, and each sum of products with or without layer normalization,
are those of variants.py.
"""

import numpy as np
from reference.rnnsearch import bias, embed, log_softmax, sigmoid
from reference.variants import UNITS, normalized, total


def lstm(w, prefix, x, state):
    """(h, cell) by Graves' equations; without weights p the gates do not see the cell."""
    h, cell = state
    i = sigmoid(total(w, prefix, "_input", x, h, None) + bias(w, f"{prefix}p_input") * cell)
    f = sigmoid(total(w, prefix, "_forget", x, h, None) + bias(w, f"{prefix}p_forget") * cell)
    cell = f * cell + i * np.tanh(total(w, prefix, "", x, h, None))
    o = sigmoid(total(w, prefix, "_output", x, h, None) + bias(w, f"{prefix}p_output") * cell)
    return o * np.tanh(normalized(cell, w, f"{prefix}cell")), cell


def advance(x, state, w, prefix, unit):
    """One step of a unit of one layer."""
    return lstm(w, prefix, x, state) if unit == "lstm" else UNITS[unit](x, state, w, prefix)


def layers_of(side, options):
    own = options["encoder_layers"] if side == "encoder" else None
    return own or options["layers"]


def zeros(w, side, options):
    """The states of all layers before the first word."""
    parts = 2 if options["unit"] == "lstm" else 1
    count = layers_of(side, options)
    return [(np.zeros(w[f"{side}.{k + 1}.U"].shape[0]),) * parts for k in range(count)]


def layers(w, side, x, states, options):
    """One position of all layers; with skips x goes to every layer."""
    below = None
    result = []
    for k, state in enumerate(states):
        if below is None:
            read = x
        else:
            read = np.concatenate([x, below]) if options["system"] == "stacked" else below
        prefix = f"{side}.{k + 1}."
        state = advance(read, state, w, prefix, options["unit"])
        below = added(state[0], below, k + 1, options)
        result.append(state)
    return result


def added(output, below, layer, options):
    """The output of a layer, counted from 1, with its input if it is residual."""
    return output + below if options["residual"] and layer >= options["first_residual"] else output


def output(states, options):
    """The output of the top layer."""
    total = None
    for k, state in enumerate(states):
        total = added(state[0], total, k + 1, options)
    return total


def encode(w, source_ids, options):
    """(top states h_j (J, n) in the order of the words, the states of all layers after the last
    read).
    """
    if not options["read_end_symbol"]:
        source_ids = source_ids[:-1]
    if options["encoder_directions"] == "first":
        return encode_gnmt(w, source_ids, options)
    if options["encoder_directions"] != "forward":
        return encode_both(w, source_ids, options)
    words = len(source_ids) - options["read_end_symbol"]
    order = list(source_ids)
    if options["reverse_source"]:
        order[:words] = reversed(order[:words])
    states = zeros(w, "encoder", options)
    top = []
    for word in order:
        states = layers(w, "encoder", embed(w, "source", word), states, options)
        top.append(output(states, options))
    if options["reverse_source"]:
        top[:words] = reversed(top[:words])
    return np.array(top), states


def sweep(w, prefix, inputs, options):
    """(outputs at all positions, the state after the last) of one layer."""
    state = (np.zeros(w[f"{prefix}U"].shape[0]),) * (2 if options["unit"] == "lstm" else 1)
    outputs = []
    for x in inputs:
        state = advance(x, state, w, prefix, options["unit"])
        outputs.append(state[0])
    return outputs, state


def encode_gnmt(w, source_ids, options):
    """(h_j (J, n), the last states of the layers, of the first one the backward direction's)."""
    words = [embed(w, "source", word) for word in source_ids]
    forward, _ = sweep(w, "encoder.1.forward.", words, options)
    backward, state = sweep(w, "encoder.1.backward.", words[::-1], options)
    below = [np.concatenate(pair) for pair in zip(forward, backward[::-1])]
    last = [state]
    for layer in range(2, layers_of("encoder", options) + 1):
        outputs, state = sweep(w, f"encoder.{layer}.", below, options)
        wide = layer == 2  # its input is twice as wide as its output
        below = outputs if wide else [added(*pair, layer, options) for pair in zip(outputs, below)]
        last.append(state)
    return np.array(below), last


def encode_both(w, source_ids, options):
    """(h_j (J, 2n), for each layer its states after the last word, forward and backward side by
    side).
    """
    below = {way: [embed(w, "source", word) for word in source_ids] for way in (1, -1)}
    last = []
    for k in range(layers_of("encoder", options)):
        read = {}
        ends = {}
        for way, name in ((1, "forward"), (-1, "backward")):
            prefix = f"encoder.{k + 1}.{name}."
            n = w[f"{prefix}U"].shape[0]
            state = (np.zeros(n),) * (2 if options["unit"] == "lstm" else 1)
            outputs = []
            for x in below[way][::way]:
                state = advance(x, state, w, prefix, options["unit"])
                outputs.append(state[0])
            read[way] = outputs[::way]
            ends[way] = state
        last.append(tuple(np.concatenate(parts) for parts in zip(ends[1], ends[-1])))
        if options["encoder_directions"] == "layers":
            both = [np.concatenate(pair) for pair in zip(read[1], read[-1])]
            read = {1: both, -1: both}
        if k:
            read = {
                way: [added(a, b, k + 1, options) for a, b in zip(read[way], below[way])]
                for way in read
            }
        below = read
    if options["encoder_directions"] == "layers":
        return np.array(below[1]), last
    return np.array([np.concatenate(pair) for pair in zip(below[1], below[-1])]), last


def bridge(w, last, options):
    """The first states of the decoder's layers."""
    kind, layers, n = options["bridge"], options["layers"], options["hidden_size"]
    parts = len(last[0])
    top = last[-1][0]
    if kind == "copy":
        return last
    if kind == "zero":
        return [(np.zeros(n),) * parts] * layers
    if kind == "top":
        return [(top[:n],) * parts] * layers
    if kind == "tanh":
        return [(np.tanh(top @ w["W_b"] + bias(w, "b_b")),) * parts] * layers
    if kind == "alternate":
        ways = [
            [part[way * n : (way + 1) * n] for part in state] for state in last for way in (0, 1)
        ]
        return [tuple(state) for state in ways[:layers]]
    flat = np.concatenate([part for state in last for part in state]) @ w["W_b"] + bias(w, "b_b")
    flat = np.tanh(flat) if kind == "dense_tanh" else flat
    pieces = np.split(flat, layers * parts)
    return [tuple(pieces[k * parts : (k + 1) * parts]) for k in range(layers)]


def first_word(w, options):
    """The vector before the first word."""
    return (
        w["E_target"][0] + bias(w, "b_E_target")
        if options["begin_symbol"]
        else embed(w, "target", 0)
    )


def score(w, s, h, options):
    """e_j of one annotation, by the three formulas."""
    if options["attention_score"] == "dot":
        return s @ h
    if options["attention_score"] == "general":
        return s @ w["W_a"] @ h
    return np.tanh(np.concatenate([s, h]) @ w["W_a"] + bias(w, "b_a")) @ w["v_a"]


def attend(w, s, annotations, options):
    """(c_t, alignment) of a state s_t."""
    alignment = np.exp(log_softmax(np.array([score(w, s, h, options) for h in annotations])))
    return sum(share * h for share, h in zip(alignment, annotations)), alignment


def look(w, s, annotations, options):
    """(ŝ_t, alignment) of Luong's attention."""
    context, alignment = attend(w, s, annotations, options)
    total = np.concatenate([context, s]) @ w["W_c"] + bias(w, "b_c")
    return total if options["attentional_activation"] == "linear" else np.tanh(total), alignment


def gnmt_step(w, x, states, context, annotations, options):
    """One position of the decoder of GNMT: (output, states, c_t, alignment), from c_{t−1}."""
    previous = context
    state = advance(np.concatenate([x, previous]), states[0], w, "decoder.1.", options["unit"])
    context, alignment = attend(w, state[0], annotations, options)
    result, below = [state], state[0]
    seen = context if options["upper_context"] == "current" else previous
    for layer in range(2, options["layers"] + 1):
        prefix = f"decoder.{layer}."
        state = advance(
            np.concatenate([below, seen]), states[layer - 1], w, prefix, options["unit"]
        )
        below = added(state[0], below, layer, options)
        result.append(state)
    return below, result, context, alignment


def decode(w, source_ids, target_ids, options):
    """Forced decoding of one pair: (logits (I, V), alignments (I, J))."""
    annotations, states = encode(w, source_ids, options)
    if options["system"] in ("luong", "gnmt"):
        states = bridge(w, states, options)
    context = np.zeros(annotations.shape[1])
    attentional = np.zeros(w["W_c"].shape[1]) if "W_c" in w else None
    logits = []
    alignments = []
    for i in range(len(target_ids)):
        x = embed(w, "target", target_ids[i - 1]) if i else first_word(w, options)
        if options["input_feeding"]:
            x = np.concatenate([x, attentional])
        alignment = np.zeros(len(source_ids))
        if options["system"] == "gnmt":
            top, states, context, found = gnmt_step(w, x, states, context, annotations, options)
        else:
            states = layers(w, "decoder", x, states, options)
        if options["system"] == "gnmt":
            alignment[: len(found)] = found
            row = top @ w["W_s"]
        elif options["system"] == "luong":
            attentional, found = look(w, output(states, options), annotations, options)
            alignment[: len(found)] = found
            of_state = options["predict_from"] == "state"
            row = (output(states, options) if of_state else attentional) @ w["W_s"]
        elif options["system"] == "stacked":
            n = len(states[0][0])
            row = sum(state[0] @ w["W_hy"][k * n : (k + 1) * n] for k, state in enumerate(states))
        else:
            row = output(states, options) @ w["W_o"]
        logits.append(row + bias(w, "b_softmax"))
        alignments.append(alignment)
    return np.array(logits), np.array(alignments)
