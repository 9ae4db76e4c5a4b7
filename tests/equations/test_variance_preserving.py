"""The initialization variance_preserving, block by block: every matrix of every paper by its own
sizes.
"""

import numpy as np
import pytest
import tensorflow as tf
from reference import distributions
from rnnsearch_tf.config import ModelConfig, load_config
from rnnsearch_tf.layers.recurrent_unit import RecurrentUnit
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


def fresh(options, **more):
    model = ModelConfig(**SIZES, initialization="variance_preserving", **options, **more)
    config = load_config(values={"model": {}})
    return build_model(type(config)(model=model), 300, 350)


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
    model = build_model(
        load_config(
            values={"model": {**SIZES, **options, "initialization": "variance_preserving"}}
        ),
        300,
        350,
    )
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


@pytest.mark.parametrize("case", ["rnnsearch-lstm", "deep_lstm", "stacked-lstm"])
@pytest.mark.parametrize("initialization", ["variance_preserving", "paper", "uniform"])
def test_the_forget_bias_is_added_to_that_bias_alone(case, initialization):
    options = CASES[case] | {"initialization": initialization}

    def drawn(bias):
        keras.utils.set_random_seed(1)
        config = load_config(values={"model": SIZES | options | {"forget_bias": bias}})
        return build_model(config, 300, 350).paper_weights()

    plain, raised = drawn(0.0), drawn(1.5)
    found = 0
    for symbol, value in plain.items():
        expected = 1.5 if symbol.rpartition(".")[2] == "b_forget" else 0.0
        np.testing.assert_allclose(raised[symbol] - value, expected, atol=1e-6, err_msg=symbol)
        found += bool(expected)
    assert found >= 2, "encoder and decoder"


def test_a_forget_bias_of_f_keeps_the_share_sigmoid_of_f():
    """Where nothing else speaks: all matrices zero, the cell as it was times σ(f)."""
    layer = RecurrentUnit(3, "lstm", forget_bias=1.5)
    layer.build(2)
    for weight in layer.weights:
        if weight.name != "b_forget":
            weight.assign(np.zeros(weight.shape))
    state = layer.initial_state(tf.constant([[0.3, -0.2, 0.9]]))
    before = state | {"cell": tf.constant([[0.5, 1.0, -2.0]])}
    after = layer.advance(layer.inputs(tf.zeros([1, 2])), before)
    np.testing.assert_allclose(after["cell"], before["cell"] / (1 + np.exp(-1.5)), rtol=1e-6)
