"""How the weights of every system begin, and how many there are: Bahdanau et al. 2015, B.1; Cho et
al. 2014a, §4.1.1; Sutskever et al. 2014, §3.4; and variance_preserving, every matrix by its sizes.
"""

import numpy as np
import pytest
from reference import distributions
from rnnsearch_tf.config import load_config
from rnnsearch_tf.models.build import SYSTEMS, build_model
from rnnsearch_tf.runtime.backend import keras

M = 40
N = 60
ALIGNMENT = 50
MAXOUT = 35
RANK = 30
WINDOWS = 25
SIZES = dict(embedding_size=M, hidden_size=N)

CASES = {
    "rnnsearch": dict(alignment_size=ALIGNMENT, maxout_size=MAXOUT, output_rank=RANK),
    "rnnsearch-lstm": dict(
        unit="lstm", alignment_size=ALIGNMENT, maxout_size=MAXOUT, output_rank=RANK
    ),
    "rnnsearch-windows": dict(
        attention="gaussian_window", windows=WINDOWS, maxout_size=MAXOUT, output_rank=None
    ),
    "rnnencdec": dict(system="rnnencdec", maxout_size=MAXOUT, output_rank=RANK),
    "encoder_decoder": dict(system="encoder_decoder", maxout_size=MAXOUT, output_rank=RANK),
    "deep_lstm": dict(system="deep_lstm", layers=3),
    "stacked": dict(system="stacked", layers=3),
    "stacked-lstm": dict(system="stacked", layers=2, unit="lstm", peepholes=True),
    "luong-general": dict(system="luong", layers=2, attention_score="general", input_feeding=True),
    "luong-concat": dict(system="luong", attention_score="concat", alignment_size=ALIGNMENT),
    "cslm": dict(system="cslm", ngram_order=4, second_hidden_size=45),
}


def fresh(options, initialization="variance_preserving"):
    model = SIZES | options | {"initialization": initialization}
    return build_model(load_config(values={"model": model}), 300, 350)


def test_every_weight_has_its_distribution():
    """Bahdanau et al. 2015, Appendix B.1."""
    for symbol, value in fresh(CASES["rnnsearch"], "paper").paper_weights().items():
        kind, deviation = distributions.expected(symbol)
        if kind == "zero":
            assert not value.any(), symbol
        elif kind == "orthogonal":
            assert distributions.distance_from_orthogonal(value.astype(np.float64)) < 1e-5, symbol
        else:  # the chance of one fair sample going past 5 standard errors is 6e-7
            assert np.abs(distributions.normal_deviations(value, deviation)).max() < 5, symbol


def test_encoder_decoder_starts_as_cho_et_al():
    """§4.1.1: N(0, 0.01²); recurrent matrices 0.01 times orthogonal; biases 0."""
    for symbol, value in fresh(CASES["encoder_decoder"], "paper").paper_weights().items():
        last = symbol.rpartition(".")[2]
        if last.startswith("b"):
            assert not value.any(), symbol
        elif last.startswith("U"):
            distance = distributions.distance_from_orthogonal(100 * value.astype(np.float64))
            assert distance < 1e-4, symbol
        else:
            assert np.abs(distributions.normal_deviations(value, 0.01)).max() < 5, symbol


@pytest.mark.parametrize(
    "options, initialization, limit",
    [
        (CASES["deep_lstm"] | {"peepholes": True}, "uniform", 0.08),
        (CASES["cslm"], "paper", 0.01),
    ],
    ids=["Sutskever et al. 2014, §3.4", "Cho et al. 2014a, §4.1.2"],
)
def test_uniform_everywhere(options, initialization, limit):
    """All parameters are within ± the limit, biases and peepholes too."""
    values = fresh(options, initialization).paper_weights()
    for symbol, value in values.items():
        assert value.any() and np.abs(value).max() <= limit, symbol
    together = np.concatenate([value.ravel() for value in values.values()])
    assert np.abs(distributions.uniform_deviations(together, limit)).max() < 5
    vectors = [tuple(value) for value in values.values() if value.ndim == 1]
    assert len(set(vectors)) == len(vectors) > 1


def matrices(symbol, value, options):
    """The matrices of the papers in what paper_weights gives under one symbol: those that meet
    different vectors, one by one.
    """
    if symbol == "W_hy":  # Σ_k W_{h^k y} h^k
        return np.split(value, options["layers"])
    # of the word, and of the layer below
    if options.get("system") == "stacked" and ".W" in symbol and len(value) == M + N:
        return [value[:M], value[M:]]
    return [value]


def terms(symbol, options):
    """How many products the equation of the paper sums up where this matrix's stands."""
    system = options.get("system", "rnnsearch")
    last = symbol.rpartition(".")[2]
    attends = system in ("rnnsearch", "rnnencdec", "encoder_decoder")  # or is given a context: C c
    if last in ("W_a", "U_a"):
        return 1 if system == "luong" else 2  # W_a s + U_a h
    if last in ("U_o", "V_o", "C_o"):
        return 3
    if last in ("O_h", "O_y", "O_c", "O_w"):
        return 4
    if last == "W_hy":
        return options["layers"]
    unit = (
        last in ("W", "C")
        or last.startswith(("W_", "C_"))
        and last[2:] in ("z", "r", "input", "forget", "output")
    )
    if not unit:
        return 1
    skips = system == "stacked" and ".1." not in symbol
    given = attends and not symbol.startswith("encoder.")
    # W e + U h, C c, and W' of the layer below
    return 2 + given + skips


@pytest.mark.parametrize("case", CASES)
def test_every_matrix_by_its_own_sizes(case):
    options = CASES[case]
    drawn = 0
    for symbol, value in fresh(options).paper_weights().items():
        last = symbol.rpartition(".")[2]
        value = value.astype(np.float64)
        if last.startswith(("b", "p_")):
            assert last == "b_alpha" or not value.any(), symbol
        elif last.startswith("U") and last not in ("U_a", "U_o"):
            assert distributions.distance_from_orthogonal(value) < 1e-5, symbol
        elif last.startswith("E_"):
            assert np.abs(distributions.normal_deviations(value, 1.0)).max() < 5, symbol
        else:
            for matrix in matrices(symbol, value, options):
                rows, columns = (*matrix.shape, 1)[:2]
                limit = distributions.glorot_limit(rows, columns, terms(symbol, options))
                assert np.abs(distributions.uniform_deviations(matrix, limit)).max() < 5, symbol
                assert np.abs(matrix).max() > 0.8 * limit, symbol
                drawn += 1
    assert drawn >= 3, "most weights were compared"


@pytest.mark.parametrize("case", CASES)
def test_no_two_matrices_begin_alike(case):
    """Two draws from one seed would be equal but for their scale."""
    drawn = []
    for symbol, value in fresh(CASES[case]).paper_weights().items():
        drawn += [
            (symbol, m.ravel() / m.std())
            for m in matrices(symbol, value, CASES[case])
            if value.any() and np.ndim(value) == 2
        ]
    for index, (symbol, one) in enumerate(drawn):
        for other, two in drawn[:index]:
            size = min(len(one), len(two))
            assert abs((one[:size] * two[:size]).mean()) < 6 / np.sqrt(size), (symbol, other)


def test_every_system_has_a_case():
    assert {options.get("system", "rnnsearch") for options in CASES.values()} == set(SYSTEMS)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("case", ["rnnsearch", "deep_lstm", "luong-general"])
def test_scaled_embeddings(case, tied, scaled):
    """What is looked up has unit variance; a tied matrix has 1/m as it meets the output."""
    options = CASES[case] | ({"hidden_size": M} if case != "rnnsearch" else {"output_rank": M})
    options |= {"tie_target_embeddings": tied, "scale_embeddings": scaled}
    model = fresh(options)
    weights = model.paper_weights()
    deviation = M**-0.5 if tied and not scaled else 1.0
    assert np.abs(distributions.normal_deviations(weights["E_target"], deviation)).max() < 5
    assert np.abs(distributions.normal_deviations(weights["E_source"], 1.0)).max() < 5
    assert (
        np.abs(
            distributions.normal_deviations(
                np.array(model.source_embedding.E), M**-0.5 if scaled else 1.0
            )
        ).max()
        < 5
    )
    if tied:
        output = weights[{"rnnsearch": "W_o2", "deep_lstm": "W_o", "luong-general": "W_s"}[case]]
        assert np.abs(distributions.normal_deviations(output, M**-0.5)).max() < 5
        np.testing.assert_allclose(
            output.T * (np.sqrt(M) if scaled else 1), weights["E_target"], rtol=1e-6
        )


@pytest.mark.parametrize(
    "case, initialization",
    [
        ("rnnsearch-lstm", "variance_preserving"),
        ("deep_lstm", "uniform"),
        ("stacked-lstm", "paper"),
    ],
)
def test_the_forget_bias_is_added_to_that_bias_alone(case, initialization):
    def drawn(bias):
        keras.utils.set_random_seed(1)
        return fresh(CASES[case] | {"forget_bias": bias}, initialization).paper_weights()

    plain, raised = drawn(0.0), drawn(1.5)
    found = 0
    for symbol, value in plain.items():
        expected = 1.5 if symbol.rpartition(".")[2] == "b_forget" else 0.0
        np.testing.assert_allclose(raised[symbol] - value, expected, atol=1e-6, err_msg=symbol)
        found += bool(expected)
    assert found >= 2, "encoder and decoder"


def test_windows_begin_with_heights_that_sum_to_one():
    weights = fresh(CASES["rnnsearch-windows"], "paper").paper_weights()
    assert np.exp(weights["b_alpha"]).sum() == pytest.approx(1.0, abs=1e-6)
    assert not weights["b_beta"].any() and not weights["b_kappa"].any()


# Numbers of parameters.


@pytest.mark.parametrize(
    "name, system, words, parameters",
    [
        # counted by the authors' own program
        ("groundhog", "rnnsearch", 30_001, 84_349_101),
        ("groundhog", "rnnencdec", 30_001, 72_487_101),
        # by the shapes of their layers: embeddings 3,000,400, their projections 602,000, recurrent
        # matrices 6,000,000, s_0 1,001,000, context 3,000,000, readout 2,101,000, output 1,565,101
        ("encoder-decoder-groundhog", "rnnencdec", 15_001, 17_269_501),
    ],
)
def test_parameters_of_the_authors_programs(name, system, words, parameters, monkeypatch):
    zeros = keras.initializers.Zeros()  # to draw them takes seconds
    monkeypatch.setattr("rnnsearch_tf.layers.base.initializer", lambda *_: zeros)
    model = build_model(load_config(name, [f"model.system={system}"]), words, words)
    assert sum(int(np.prod(weight.shape)) for weight in model.trainable_weights) == parameters


def test_the_paper_has_the_parameters_of_its_formulas():
    """Appendix A.2 as printed, without biases."""

    def formulas(K_x, K_y, m, n, alignment, maxout):
        encoder = K_x * m + 2 * (3 * m * n + 3 * n * n)
        decoder = K_y * m + 3 * m * n + 3 * n * n + 3 * 2 * n * n + n * n
        attention = n * alignment + 2 * n * alignment + alignment
        output = 2 * maxout * (n + m + 2 * n) + maxout * K_y
        return encoder + decoder + attention + output

    assert formulas(30_000, 30_000, 620, 1000, 1000, 500) == 80_401_000
    sizes = dict(embedding_size=6, hidden_size=10, alignment_size=9, maxout_size=5)
    config = load_config("paper", [f"model.{name}={size}" for name, size in sizes.items()])
    assert build_model(config, 70, 80).count_params() == formulas(70, 80, 6, 10, 9, 5)


def test_parameters_of_the_deep_lstm():
    """384M of which 64M are recurrent connections (§3.4); built here at a smaller size."""

    def formulas(K_x, K_y, m, n, layers):
        """Embeddings, softmax with bias, and of each layer 4 gates from below and from before,
        biases and 3 peepholes.
        """
        below = [m] + [n] * (layers - 1)
        stack = sum(4 * n * (size + n) + 4 * n + 3 * n for size in below)
        return (K_x + K_y) * m + (n + 1) * K_y + 2 * stack

    model = fresh(CASES["deep_lstm"] | {"peepholes": True})
    assert model.count_params() == formulas(300, 350, M, N, 3)
    whole = formulas(160_000, 80_000, 1000, 1000, 4)
    assert round(whole / 1e6) == 384
    assert round((whole - 320e6) / 1e6) == 64


def test_rank_100_and_500_maxout_units():
    """Cho et al. 2014a at their sizes but for the vocabulary: embeddings, unit, summary, output."""
    sizes = dict(embedding_size=100, hidden_size=1000, maxout_size=500, output_rank=100)
    model = fresh(dict(sizes, system="encoder_decoder", biases="none"), "uniform")
    units = 3 * 1000 * (100 + 1000) + 3 * 1000 * (100 + 1000 + 1000)
    output = 1000 * (1000 + 100 + 1000 + 100) + 500 * 100 + 100 * 350
    assert model.count_params() == (300 + 350) * 100 + units + 2 * 1000**2 + output
