"""What an exported model answers: the contract, and the Python model's own answers."""

import collections
import json
import pathlib

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel
from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog


CONTRACT = json.loads(
    (pathlib.Path(__file__).parents[2] / "export" / "contract.json").read_text(encoding="utf-8")
)["signatures"]
# of conftest.py's export
NBEST = 3
TARGET_LIMIT = 150
TEMPERATURE = 0.5
LINES = [
    "My sister reads an old book.",
    "",
    "the blue door",
    "🙂 שלום e\u0301te\u0301",
    "a " * 80,
    "Our doors are open, and they sing!",
]
SEARCH = dict(replace_unknown=True, nbest=NBEST)


def request(name, lines):
    seeds = [k << 32 for k in range(len(lines))]
    targets = {"target": lines[::-1]}
    others = {
        "score": targets,
        "sample": {"seed": seeds},
    }
    other = others.get(name, {})
    return {"source" if "target" in other else "text": lines} | other


@pytest.fixture(scope="module", autouse=True)
def long_sentences(translator):
    """It cuts sentences where the export does, whichever test comes first."""
    translator.maximum_lengths = {"source": 200, "target": TARGET_LIMIT}


@pytest.fixture(scope="module")
def translations(translator, long_sentences):
    return translator.translate(LINES, **SEARCH)


def test_names_types_and_shapes_are_the_contract(exported):
    graph = SavedModel.FromString((exported / "saved_model.pb").read_bytes()).meta_graphs[0]
    found = {
        name: signature
        for name, signature in graph.signature_def.items()
        if not name.startswith("__")
    }
    assert set(found) == {*CONTRACT, "serving_default"}
    for name, promised in (CONTRACT | {"serving_default": CONTRACT["translate"]}).items():
        for side in ("inputs", "outputs"):
            tensors = getattr(found[name], side)
            assert {
                key: (
                    tf.as_dtype(tensor.dtype).name,
                    [dim.size for dim in tensor.tensor_shape.dim],
                    tensor.tensor_shape.unknown_rank,
                )
                for key, tensor in tensors.items()
            } == {
                key: (p["dtype"], [{"B": -1, "N": NBEST}[d] for d in p["shape"]], False)
                for key, p in promised[side].items()
            }


def test_translate(session, translations):
    for name in ("translate", "serving_default"):
        answer = session(name, text=LINES)
        assert [text.decode() for text in answer["translation"]] == [
            translation.text for translation in translations
        ]
        np.testing.assert_allclose(
            answer["score"],
            [translation.score for translation in translations],
            rtol=1e-5,
            atol=1e-5,
        )


def test_nbest(session, translations, translator):
    as_searched = translator.translate(LINES, nbest=NBEST)
    others = [hypothesis.tokens for line in as_searched for hypothesis in line.nbest[1:]]
    assert any("<unk>" in tokens for tokens in others)  # replaced from now on
    answer = session("translate_nbest", text=LINES)
    for row, translation in enumerate(translations):
        count = len(translation.nbest)
        assert [text.decode() for text in answer["translation"][row]] == [
            n.text for n in translation.nbest
        ] + [""] * (NBEST - count)
        assert [tokens.decode() for tokens in answer["tokens"][row][:count]] == [
            " ".join(n.tokens) for n in translation.nbest
        ]
        for key in ("score", "log_probability"):
            expected = [getattr(n, key) for n in translation.nbest] + [np.finfo(np.float32).min] * (
                NBEST - count
            )
            np.testing.assert_allclose(answer[key][row], expected, rtol=1e-5, atol=1e-5)
    finished = [[len(n.tokens) + 1 for n in translation.nbest] for translation in translations]
    for row, lengths in enumerate(finished):
        got = answer["length"][row]
        assert [length for length in got if length] == [
            min(length, limit) for length, limit in zip(lengths, got)
        ]


def test_alignments(session, translations):
    answer = session("translate_aligned", text=LINES)
    for row, translation in enumerate(translations):
        assert answer["source_tokens"][row].decode() == " ".join(translation.source_tokens)
        assert answer["target_tokens"][row].decode() == " ".join(translation.tokens)
        logs = json.loads(answer["token_log_probabilities"][row])
        np.testing.assert_allclose(logs, translation.token_log_probabilities, atol=1e-5)
        matrix = json.loads(answer["alignment"][row])
        if not translation.source_tokens:
            assert matrix == []
            continue
        # cut short, it has no row of the end symbol
        assert len(matrix) in (
            len(translation.tokens),
            len(translation.tokens) + 1,
        )
        np.testing.assert_allclose(matrix, translation.alignment[: len(matrix)], atol=0.6e-4)
        np.testing.assert_allclose(np.sum(matrix, axis=1), 1.0, atol=1e-2)


def test_scores(session, translator, translations):
    answer = session("score", **request("score", LINES))
    expected = translator.score_targets(LINES, LINES[::-1])
    np.testing.assert_allclose(
        answer["log_probability"], [pair.log_probability for pair in expected], rtol=1e-5
    )
    for row, pair in enumerate(expected):
        assert answer["target_tokens"][row].decode() == " ".join(pair.target_tokens)
        np.testing.assert_allclose(
            json.loads(answer["token_log_probabilities"][row]),
            pair.token_log_probabilities,
            rtol=1e-5,
            atol=1e-6,
        )


def test_samples(session, translator):
    answer = session("sample", **request("sample", LINES))
    for row, line in enumerate(LINES):
        [[expected]] = translator.sample([line], 1, TEMPERATURE, seed=row)
        assert answer["translation"][row].decode() == expected.text
        assert answer["log_probability"][row] == pytest.approx(expected.log_probability, rel=1e-5)
        if not line.strip():
            assert answer["translation"][row] == b"" and answer["log_probability"][row] == 0
    assert not all(map(str.strip, LINES))


def test_tokens(session, translator):
    answer = session("tokenize", text=LINES)
    tokens = translator.source_text.tokenize(LINES).to_list()
    vocabulary = set(translator.source_text.vocabulary.tokens)
    assert answer["tokens"].tolist() == [b" ".join(row) for row in tokens]
    assert answer["length"].tolist() == [len(row) for row in tokens]
    assert answer["unknown"].tolist() == [
        sum(token.decode() not in vocabulary for token in row) for row in tokens
    ]


def assert_same(key, got, expected):
    """Equal; numbers but for the last digits, also those in JSON."""
    assert got.shape == expected.shape
    if key == "token_log_probabilities":
        got, expected = (np.concatenate([*map(json.loads, rows)]) for rows in (got, expected))
    if got.dtype in (np.float32, np.float64):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)
    else:
        assert got.tolist() == expected.tolist()


@pytest.mark.parametrize("name", CONTRACT)
def test_a_row_depends_on_itself_alone(session, name):
    """As a server does that puts several clients' requests together and splits the answer."""
    together = session(name, **request(name, LINES))
    for row in range(len(LINES)):
        alone = session(
            name, **{key: values[row : row + 1] for key, values in request(name, LINES).items()}
        )
        for key, value in alone.items():
            assert_same(key, value, together[key][row : row + 1])


@pytest.mark.parametrize("name", CONTRACT)
def test_no_text_gives_no_answer(session, name):
    answer = session(
        name,
        **{
            key: np.array([], np.int64 if key == "seed" else object)
            for key in CONTRACT[name]["inputs"]
        },
    )
    for key, promised in CONTRACT[name]["outputs"].items():
        assert answer[key].shape == tuple({"B": 0, "N": NBEST}[d] for d in promised["shape"])


def test_long_texts_are_cut_and_the_answer_says_so(session):
    long = "book " * 250
    assert session("translate", text=[long, "book " * 200])["source_truncated"].tolist() == [
        True,
        False,
    ]
    answer = session("score", source=[long, "book"], target=["book", long])
    assert answer["source_truncated"].tolist() == [True, False] and answer[
        "target_truncated"
    ].tolist() == [False, True]
    answer = session(
        "score",
        source=["book"] * 2,
        target=["livre " * TARGET_LIMIT, "livre " * (TARGET_LIMIT + 1)],
    )
    assert answer["target_truncated"].tolist() == [False, True]


@pytest.mark.parametrize("name", ["translate_nbest", "score", "sample", "tokenize"])
def test_parts_of_a_request_are_joined_in_their_order(session, name):
    """150 rows are computed in three parts."""
    few = request(name, ["the blue door", "", "a book"])
    expected = session(name, **few)
    for key, value in session(name, **{key: values * 50 for key, values in few.items()}).items():
        assert_same(key, value, np.concatenate([expected[key]] * 50))


@pytest.mark.parametrize(
    "name, key",
    [
        ("score", "target"),
        ("sample", "seed"),
    ],
)
def test_inputs_of_two_lengths_are_refused(session, name, key):
    inputs = {k: np.array(v) for k, v in request(name, ["a", "b", "c"]).items()}
    inputs[key] = inputs[key][:2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected as many entries in both"):
        session(name, **inputs)


def test_every_weight_is_stored_once(exported, translator):
    parameters = translator.model.count_params()
    prefix = str(exported / "variables" / "variables")
    stored = [shape for name, shape in tf.train.list_variables(prefix) if "weights" in name]
    assert sum(int(np.prod(shape)) for shape in stored) == parameters
    data = (exported / "variables" / "variables.data-00000-of-00001").stat().st_size
    assert data <= 1.02 * 4 * parameters + 8192  # the list of names is in it too


def test_warm_up_requests_are_answered(exported, session):
    records = list(
        tf.data.TFRecordDataset(
            str(exported / "assets.extra" / "tf_serving_warmup_requests")
        ).as_numpy_iterator()
    )
    seen = collections.defaultdict(set)
    for record in records:
        asked = PredictionLog.FromString(record).predict_log.request
        inputs = {key: tf.make_ndarray(value) for key, value in asked.inputs.items()}
        answer = session(asked.model_spec.signature_name, **inputs)
        rows = {len(value) for value in [*inputs.values(), *answer.values()]}
        assert len(rows) == 1
        seen[asked.model_spec.signature_name] |= rows
    assert seen == dict.fromkeys({*CONTRACT, "serving_default"}, {1, 4})
