"""What an exported model answers: the contract, and the Python model's own answers."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

CONTRACT = json.loads(
    (pathlib.Path(__file__).parents[2] / "export" / "contract.json").read_text(encoding="utf-8")
)["signatures"]
# of conftest.py's export
NBEST = 2
LIMIT = 150
LINES = [
    "My sister reads an old book.",
    "",
    "the blue door",
    "🙂 שלום e\u0301te\u0301",
    "a " * 80,
    "Our doors are open, and they sing!",
]
SEED = 5


def request(name, lines):
    """Inputs of a signature, made of lines; the seeds are those of Translator.sample."""
    if name == "score":
        return {"source": lines, "target": lines[::-1]}
    if name == "sample":
        temperatures = [0.5] * len(lines)
        return {"text": lines, "seed": [SEED << 32] * len(lines), "temperature": temperatures}
    return {"text": lines}


@pytest.fixture(scope="module")
def translations(translator):
    return translator.translate(LINES, NBEST)


def test_names_types_and_shapes_are_the_contract(exported):
    graph = SavedModel.FromString((exported / "saved_model.pb").read_bytes()).meta_graphs[0]
    signatures = {
        name: signature
        for name, signature in graph.signature_def.items()
        if not name.startswith("__")
    }
    assert set(signatures) == {*CONTRACT, "serving_default"}
    sizes = {"B": -1, "N": NBEST, "I": -1, "J": -1}
    for name, promised in (CONTRACT | {"serving_default": CONTRACT["translate"]}).items():
        for side in ("inputs", "outputs"):
            found = {
                key: (
                    tf.as_dtype(tensor.dtype).name,
                    [dim.size for dim in tensor.tensor_shape.dim],
                    tensor.tensor_shape.unknown_rank,
                )
                for key, tensor in getattr(signatures[name], side).items()
            }
            assert found == {
                key: (one["dtype"], [sizes[letter] for letter in one["shape"]], False)
                for key, one in promised[side].items()
            }


def test_translate_is_the_first_of_nbest(session):
    best = session("nbest", text=LINES)
    for name in ("translate", "serving_default"):
        answer = session(name, text=LINES)
        first = {key: value if value.ndim == 1 else value[:, 0] for key, value in best.items()}
        assert_same(answer, {key: first[key] for key in answer})
    assert answer["translation"][1] == b"" and answer["probability"][1] == 1


def assert_same(answer, expected):
    """Equal, but for the last digits of numbers, and for padding."""
    for key, value in expected.items():
        found = answer[key]
        sizes = np.maximum(found.shape, value.shape)
        found, value = (
            np.pad(one, [(0, size - mine) for size, mine in zip(sizes, one.shape)])
            if one.dtype != object
            else one
            for one in (found, value)
        )
        if value.dtype == np.float32:
            np.testing.assert_allclose(found, value, rtol=1e-5, atol=1e-5, err_msg=key)
        else:
            assert found.tolist() == value.tolist(), key


@pytest.mark.parametrize("name", CONTRACT)
def test_a_row_depends_on_itself_alone(session, name):
    """As a server does that puts several clients' requests together and splits the answer."""
    together = session(name, **request(name, LINES))
    inputs = request(name, LINES)
    for row in range(len(LINES)):
        alone = session(name, **{key: values[row : row + 1] for key, values in inputs.items()})
        assert_same({key: values[row : row + 1] for key, values in together.items()}, alone)


@pytest.mark.parametrize("name", CONTRACT)
def test_no_text_gives_no_answer(session, name):
    kinds = {"seed": np.int64, "temperature": np.float32}
    inputs = {key: np.array([], kinds.get(key, object)) for key in CONTRACT[name]["inputs"]}
    answer = session(name, **inputs)
    for key, promised in CONTRACT[name]["outputs"].items():
        sizes = {"B": 0, "N": NBEST, "I": 0, "J": 0}
        assert answer[key].shape == tuple(sizes[letter] for letter in promised["shape"])


def test_a_temperature_of_zero_is_refused(session):
    with pytest.raises(tf.errors.InvalidArgumentError, match="temperature: expected above 0"):
        session("sample", text=["a"], seed=[1], temperature=[0.0])


def test_long_texts_are_cut_and_the_answer_says_so(session):
    long = "book " * 250
    answer = session("translate", text=[long, "book " * LIMIT])
    assert answer["source_truncated"].tolist() == [True, False]
    answer = session("score", source=[long, "book"], target=["book", long])
    assert answer["source_truncated"].tolist() == [True, False]
    assert answer["target_truncated"].tolist() == [False, True]
    targets = ["livre " * LIMIT, "livre " * (LIMIT + 1)]
    answer = session("score", source=["book"] * 2, target=targets)
    assert answer["target_truncated"].tolist() == [False, True]


@pytest.mark.parametrize("name", CONTRACT)
def test_parts_of_a_request_are_joined_in_their_order(session, name):
    """150 rows are computed in three parts, whose longest texts have different lengths."""
    few = request(name, ["the blue door", "", "a book"])
    longer = request(name, ["the blue door of an old house", "", "a"])
    one, other = session(name, **few), session(name, **longer)
    inputs = {key: values * 40 + longer[key] * 10 for key, values in few.items()}
    answer = session(name, **inputs)
    assert_same({key: value[:3] for key, value in answer.items()}, one)
    assert_same({key: value[117:120] for key, value in answer.items()}, one)
    assert_same({key: value[147:] for key, value in answer.items()}, other)
    assert {len(value) for value in answer.values()} == {150}


def test_it_answers_in_a_process_without_the_package(exported, translations, tmp_path):
    """As any program does that has TensorFlow and the operations of tensorflow_text."""
    code = (
        "import sys, tensorflow as tf, tensorflow_text\n"
        "translate = tf.saved_model.load(sys.argv[1]).signatures['translate']\n"
        "answer = translate(tf.constant(sys.argv[2:]))\n"
        "assert not any(name.startswith('rnnsearch') for name in sys.modules)\n"
        "sys.stdout.buffer.write(b'\\n'.join(answer['translation'].numpy()))\n"
    )
    lines = [line for line in LINES if len(line) < 100]
    command = [sys.executable, "-I", "-c", code, str(exported), *lines]
    done = subprocess.run(command, capture_output=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    expected = [one.text for one, line in zip(translations, LINES) if line in lines]
    assert done.stdout.decode().split("\n") == expected


@pytest.mark.parametrize("name, key", [("score", "target"), ("sample", "seed")])
def test_inputs_of_two_lengths_are_refused(session, name, key):
    inputs = {k: np.array(v) for k, v in request(name, ["a", "b", "c"]).items()}
    inputs[key] = inputs[key][:2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected as many entries in each"):
        session(name, **inputs)


def test_every_weight_is_stored_once(exported, translator):
    parameters = translator.model.count_params()
    prefix = str(exported / "variables" / "variables")
    stored = [shape for name, shape in tf.train.list_variables(prefix) if "weights" in name]
    assert sum(int(np.prod(shape)) for shape in stored) == parameters
    data = (exported / "variables" / "variables.data-00000-of-00001").stat().st_size
    assert data <= 1.02 * 4 * parameters + 8192  # the list of names is in it too
