"""The reference itself, against values worked out by hand and against closed forms."""

import math

import numpy as np
import pytest
from reference import rnnsearch
from reference.optimizers import Adadelta, Adam, clip_by_global_norm


def one_unit_weights(**changes):
    """m = n = n' = l = 1, V = 3: every matrix a number, so that a sentence can be worked out on
    paper.
    """
    numbers = {"W_s": 0.5, "W_a": 0.3, "v_a": 2.0}
    for d, base in (("forward", 0.2), ("backward", -0.4)):
        for k, letter in enumerate(("W", "W_z", "W_r", "U", "U_z", "U_r")):
            numbers[f"encoder.{d}.{letter}"] = base + 0.1 * k
    for k, letter in enumerate(("W", "W_z", "W_r", "U", "U_z", "U_r")):
        numbers[letter] = 0.7 - 0.2 * k
    weights = {symbol: np.array([[value]]) for symbol, value in numbers.items()}
    weights["v_a"] = np.array([2.0])
    for k, letter in enumerate(("U_a", "C", "C_z", "C_r")):
        weights[letter] = np.array([[0.4 - 0.1 * k], [-0.3 + 0.2 * k]])
    weights["E_source"] = np.array([[9.0], [0.5], [-1.0]])
    weights["E_target"] = np.array([[9.0], [0.25], [2.0]])
    weights["U_o"], weights["V_o"] = np.array([[1.0, -1.0]]), np.array([[0.3, 0.6]])
    weights["C_o"] = np.array([[0.2, -0.5], [0.4, 0.1]])
    weights["W_o"] = np.array([[1.0, -2.0, 0.5]])
    return weights | changes


def test_one_unit_by_hand():
    """x = (2, 1), y = (2, 1) in scalars, every order."""
    w = one_unit_weights()
    scalar = {k: v.item() for k, v in w.items() if v.size == 1}

    def sigmoid(a):
        return 1 / (1 + math.exp(-a))

    def unit(p, x, h, c=(0.0, 0.0)):
        cz, cr, cc = (sum(a * float(b) for a, b in zip(c, w[k][:, 0])) for k in ("C_z", "C_r", "C"))
        z = sigmoid(scalar[p + "W_z"] * x + scalar[p + "U_z"] * h + cz)
        r = sigmoid(scalar[p + "W_r"] * x + scalar[p + "U_r"] * h + cr)
        return (1 - z) * h + z * math.tanh(scalar[p + "W"] * x + scalar[p + "U"] * (r * h) + cc)

    f1 = unit("encoder.forward.", -1.0, 0.0)
    f2 = unit("encoder.forward.", 0.5, f1)
    b2 = unit("encoder.backward.", 0.5, 0.0)
    b1 = unit("encoder.backward.", -1.0, b2)
    np.testing.assert_allclose(rnnsearch.encode(w, [2, 1]), [[f1, b1], [f2, b2]], atol=1e-15)

    def look(s):
        e1, e2 = (2 * math.tanh(0.3 * s + 0.4 * f - 0.3 * b) for f, b in ((f1, b1), (f2, b2)))
        a = math.exp(e1) / (math.exp(e1) + math.exp(e2))
        return a, (a * f1 + (1 - a) * f2, a * b1 + (1 - a) * b2)

    def out(s, y, c):
        first = s + 0.3 * y + 0.2 * c[0] + 0.4 * c[1]
        second = -s + 0.6 * y - 0.5 * c[0] + 0.1 * c[1]
        t = max(first, second)
        return [t, -2 * t, 0.5 * t]

    s0 = math.tanh(0.5 * b1)
    a1, c1 = look(s0)
    expected = {}
    for order in rnnsearch.ORDERS:
        s1 = unit("", 2.0 if order == "look_generate_update" else 0.0, s0, c1)
        a2, c2 = look(s1)
        s2 = unit("", 2.0, s1, c2)
        read = (s1, s2) if order == "look_update_generate" else (s0, s1)
        expected[order] = [out(read[0], 0.0, c1), out(read[1], 2.0, c2)]
        logits, alignments, _ = rnnsearch.decode(w, [2, 1], [2, 1], order)
        np.testing.assert_allclose(logits, expected[order], atol=1e-14)
        np.testing.assert_allclose(alignments, [[a1, 1 - a1], [a2, 1 - a2]], atol=1e-15)
    assert len({round(rows[1][0], 6) for rows in expected.values()}) == 3


@pytest.mark.parametrize("order", rnnsearch.ORDERS)
def test_all_words_alike_when_the_output_matrix_is_zero(order):
    weights = one_unit_weights(W_o=np.zeros((1, 3)))
    loss = rnnsearch.sentence_loss(weights, [2, 1], [2, 2, 1], order, label_smoothing=0.3)
    assert loss == pytest.approx(3 * math.log(3), abs=1e-14)


def test_no_word_is_zero_and_the_embedding_bias_is_added_once():
    weights = one_unit_weights(b_E_target=np.array([10.0]))
    assert rnnsearch.embed(weights, "target", 0) == 0.0
    assert rnnsearch.embed(weights, "target", 2) == 12.0


def test_factored_output_equals_its_product():
    weights = one_unit_weights(W_o1=np.array([[2.0]]), W_o2=np.array([[0.5, -1.0, 0.25]]))
    plain = one_unit_weights()
    factored, _, _ = rnnsearch.decode(weights, [2, 1], [2, 1], "paper")
    np.testing.assert_allclose(
        factored, rnnsearch.decode(plain, [2, 1], [2, 1], "paper")[0], atol=1e-15
    )


def test_reductions():
    weights = one_unit_weights()
    pairs = [([2, 1], [2, 1]), ([1], [1]), ([2, 1], [2, 2, 2, 1])]
    total = rnnsearch.batch_loss(weights, pairs, "paper")
    assert total == pytest.approx(
        sum(rnnsearch.sentence_loss(weights, x, y, "paper") for x, y in pairs)
    )
    assert rnnsearch.batch_loss(weights, pairs, "paper", "batch_mean") == pytest.approx(total / 3)
    assert rnnsearch.batch_loss(weights, pairs, "paper", "token_mean") == pytest.approx(total / 7)


def test_first_updates_by_hand():
    """The first Adadelta step is -sqrt(e) / sqrt(0.05 g^2 + e) g; the first Adam step is -rate
    sign(g).
    """
    (value,) = Adadelta().update([np.array([1.0])], [np.array([2.0])])
    assert value[0] == pytest.approx(1.0 - 1e-3 / math.sqrt(0.05 * 4 + 1e-6) * 2, abs=1e-15)
    (value,) = Adam(learning_rate=0.1, epsilon=0.0).update([np.array([1.0])], [np.array([-3.0])])
    assert value[0] == pytest.approx(1.1, abs=1e-12)


def test_one_norm_over_all():
    gradients, norm = clip_by_global_norm([np.array([3.0]), np.array([4.0])], 1.0)
    assert norm == 5.0
    np.testing.assert_allclose(np.concatenate(gradients), [0.6, 0.8])
    gradients, _ = clip_by_global_norm([np.array([0.3])], 1.0)
    assert gradients[0][0] == 0.3
