"""RNNsearch in float64 NumPy, one sentence at a time, written from the paper.

Bahdanau, Cho, Bengio 2015, equations (1)-(7) and Appendix A. Nothing of the
package is imported here: this file is what the package is compared with.
No batch, no padding, no mask; one loop per index of the equations.

Weights come as a dictionary by the paper's symbols, stored input size first, so
that "W x" of the paper is `x @ weights["W"]`. A bias that is absent is zero.
The paper leaves biases out "to increase readability"; they are added once to
each sum they belong to. Ids: 0 as a previous word means "no word" (y_0).

Shapes: m embedding, n hidden, n' alignment, l maxout, V target vocabulary.
"""

import numpy as np

ORDERS = ("look_generate_update", "paper", "look_update_generate")


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def bias(weights, symbol):
    """The bias of this name, or zero where the chosen option has none."""
    return np.asarray(weights.get(symbol, 0.0), dtype=np.float64)


def embed(weights, side, word_id):
    """E x + b_E, (m,); no word (id 0) is the zero vector, its bias included."""
    table = weights[f"E_{side}"]
    if word_id == 0:
        return np.zeros(table.shape[1])
    return table[word_id] + bias(weights, f"b_E_{side}")


def gated_unit(x, previous, weights, prefix="", context=None):
    """One gated hidden unit (A.1.1): the next state, (n,).

    (1 - z) h + z h~, h~ = tanh(W x + U [r h] + C c), z and r logistic of the
    same sums with W_z, U_z, C_z and W_r, U_r, C_r. The encoder has no context.
    """

    def term(letter, suffix, vector):
        return vector @ weights[f"{prefix}{letter}{suffix}"]

    def total(suffix, recurrent):
        value = (
            term("W", suffix, x)
            + term("U", suffix, recurrent)
            + bias(weights, f"{prefix}b{suffix}")
        )
        return value if context is None else value + term("C", suffix, context)

    z = sigmoid(total("_z", previous))
    r = sigmoid(total("_r", previous))
    candidate = np.tanh(total("", r * previous))
    return (1.0 - z) * previous + z * candidate


def encode(weights, source_ids):
    """Annotations h_j = [forward_j ; backward_j], eq. (7), A.2.1: (J, 2n)."""
    n = weights["encoder.forward.U"].shape[0]
    length = len(source_ids)
    words = [embed(weights, "source", word_id) for word_id in source_ids]
    forward = [None] * length
    backward = [None] * length
    state = np.zeros(n)  # ->h_0
    for j in range(length):
        state = gated_unit(words[j], state, weights, "encoder.forward.")
        forward[j] = state
    state = np.zeros(n)
    for j in reversed(range(length)):
        state = gated_unit(words[j], state, weights, "encoder.backward.")
        backward[j] = state
    return np.array([np.concatenate([forward[j], backward[j]]) for j in range(length)])


def initial_state(weights, annotations):
    """s_0 = tanh(W_s <-h_1), A.2.2: (n,)."""
    n = weights["W_s"].shape[0]
    backward_at_first_word = annotations[0][n:]
    return np.tanh(backward_at_first_word @ weights["W_s"] + bias(weights, "b_s"))


def align(weights, previous_state, annotations):
    """alpha_i over source positions, eq. (6), with a() of A.1.2: (J,)."""
    energies = []
    for annotation in annotations:
        hidden = previous_state @ weights["W_a"] + annotation @ weights["U_a"]
        energies.append(float(np.tanh(hidden) @ weights["v_a"]))
    energies = np.array(energies)
    exponentials = np.exp(energies - energies.max())
    return exponentials / exponentials.sum()


def attend(alignment, annotations):
    """c_i = sum_j alpha_ij h_j, eq. (5): (2n,)."""
    context = np.zeros(annotations.shape[1])
    for share, annotation in zip(alignment, annotations):
        context = context + share * annotation
    return context


def deep_output(weights, state, previous_word, context):
    """Logits y_i^T W_o t_i of the deep output, A.2.2: (V,)."""
    summed = (  # t~_i, (2l,)
        state @ weights["U_o"]
        + bias(weights, "b_o")
        + previous_word @ weights["V_o"]
        + context @ weights["C_o"]
    )
    maxout_size = len(summed) // 2
    # t_i, (l,)
    readout = np.array([max(summed[2 * k], summed[2 * k + 1]) for k in range(maxout_size)])
    if "W_o1" in weights:  # the authors' factored output matrix
        return readout @ weights["W_o1"] @ weights["W_o2"] + bias(weights, "b_softmax")
    return readout @ weights["W_o"] + bias(weights, "b_softmax")


def log_softmax(logits):
    shifted = logits - logits.max()
    return shifted - np.log(np.exp(shifted).sum())


def decode(weights, source_ids, target_ids, decoder_order):
    """Forced decoding of one pair: logits (I, V), alignments (I, J), states s_0..s_I (I+1, n).

    Under look_generate_update the loop is the authors' own: look, generate y_i
    from s_{i-1}, then s_i = f(s_{i-1}, y_i, c_i).
    """
    if decoder_order not in ORDERS:
        raise ValueError(f"decoder_order: expected one of {ORDERS}, got {decoder_order!r}")
    annotations = encode(weights, source_ids)
    state = initial_state(weights, annotations)
    logits = []
    alignments = []
    states = [state]
    for i in range(len(target_ids)):
        y_before = embed(weights, "target", target_ids[i - 1] if i else 0)
        y_now = embed(weights, "target", target_ids[i])
        alignment = align(weights, state, annotations)
        context = attend(alignment, annotations)
        if decoder_order == "look_generate_update":
            logits.append(deep_output(weights, state, y_before, context))
            state = gated_unit(y_now, state, weights, context=context)
        elif decoder_order == "paper":
            logits.append(deep_output(weights, state, y_before, context))
            state = gated_unit(y_before, state, weights, context=context)
        else:
            state = gated_unit(y_before, state, weights, context=context)
            logits.append(deep_output(weights, state, y_before, context))
        alignments.append(alignment)
        states.append(state)
    return np.array(logits), np.array(alignments), np.array(states)


def log_probabilities(weights, source_ids, target_ids, decoder_order):
    """log p(. | y_<i, x) for each target position: (I, V)."""
    logits, _, _ = decode(weights, source_ids, target_ids, decoder_order)
    return np.array([log_softmax(row) for row in logits])


def sentence_loss(weights, source_ids, target_ids, decoder_order, label_smoothing=0.0):
    """Loss of one pair, summed over its target words, in nats.

    Each word: (1 - e) (-log p(y_i)) + e mean over the vocabulary of -log p.
    """
    total = 0.0
    for target_id, row in zip(
        target_ids, log_probabilities(weights, source_ids, target_ids, decoder_order)
    ):
        total += (1.0 - label_smoothing) * -row[target_id] + label_smoothing * -row.mean()
    return float(total)


def batch_loss(weights, pairs, decoder_order, reduction="sum", label_smoothing=0.0):
    """Loss of a list of (source_ids, target_ids): sum, batch_mean (per sentence), token_mean (per
    target word).
    """
    total = sum(sentence_loss(weights, x, y, decoder_order, label_smoothing) for x, y in pairs)
    divisors = {"sum": 1, "batch_mean": len(pairs), "token_mean": sum(len(y) for _, y in pairs)}
    return total / divisors[reduction]
