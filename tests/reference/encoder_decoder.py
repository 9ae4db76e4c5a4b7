"""The RNN Encoder-Decoder in float64 NumPy, one phrase pair at a time, from Cho et al. 2014a,
Appendix A.

Nothing of the package is imported. Weights by symbol, input size first; V' is V_prime;
G_r stands l → rank, G_l rank → K, and where the matrix is not factored G stands l → K.
"""

import numpy as np
from reference.rnnsearch import bias, embed, sigmoid


def unit(w, side, x, h, c=None):
    """h_j = z_j h_j' + (1 - z_j) h~_j; h~ = tanh(W e + r (U h' + C c)): the reset gate after the
    matrices.
    """

    def recurrent(gate):
        value = h @ w[f"{side}.U{gate}"]
        return value if c is None else value + c @ w[f"{side}.C{gate}"]

    z, r = (
        sigmoid(x @ w[f"{side}.W{gate}"] + bias(w, f"{side}.b{gate}") + recurrent(gate))
        for gate in ("_z", "_r")
    )
    candidate = np.tanh(x @ w[f"{side}.W"] + bias(w, f"{side}.b") + r * recurrent(""))
    return z * h + (1 - z) * candidate


def encode(w, source_ids):
    """(c, m_x): the representation of the phrase and its mean word."""
    words = [embed(w, "source", word) for word in source_ids]
    h = np.zeros(w["V"].shape[0])
    for word in words:
        h = unit(w, "encoder", word, h)
    return np.tanh(h @ w["V"] + bias(w, "b_V")), sum(words) / len(words)


def decode(w, source_ids, target_ids):
    """Forced decoding: (logits (I, K), no alignment: zeros (I, J))."""
    c, mean = encode(w, source_ids)
    h = np.tanh(c @ w["V_prime"] + bias(w, "b_V_prime"))
    logits = []
    for i in range(len(target_ids)):
        y = embed(w, "target", target_ids[i - 1] if i else 0)
        h = unit(w, "decoder", y, h, c)
        s = h @ w["O_h"] + bias(w, "b_o") + y @ w["O_y"] + c @ w["O_c"] + mean @ w["O_w"]
        s = np.array([max(s[2 * k], s[2 * k + 1]) for k in range(len(s) // 2)])
        logits.append((s @ w["G"] if "G" in w else s @ w["G_r"] @ w["G_l"]) + bias(w, "b_softmax"))
    return np.array(logits), np.zeros((len(target_ids), len(source_ids)))
