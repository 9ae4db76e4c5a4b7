"""JSON ↔ tensors of the REST interface: shapes, dtypes, and what the stock server says to what it
refuses.
"""

import base64
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tensorflow.core.framework import types_pb2
from tensorflow.core.protobuf.meta_graph_pb2 import SignatureDef, TensorInfo

from rnnsearch_tf.extras.server import json_bytes, json_tensors
from rnnsearch_tf.extras.server.errors import ServingError

NUMPY = {
    "float": np.float32,
    "double": np.float64,
    "int32": np.int32,
    "int64": np.int64,
    "uint64": np.uint64,
    "uint8": np.uint8,
    "bool": np.bool_,
}


def infos(**dtypes):
    return {
        name: TensorInfo(dtype=getattr(types_pb2, f"DT_{dtype.upper()}"))
        for name, dtype in dtypes.items()
    }


def inputs(body, **dtypes):
    return json_tensors.to_inputs(
        json_tensors.parse(body if isinstance(body, bytes) else body.encode()), infos(**dtypes)
    )


def answer(form=json_tensors.COLUMNAR, **outputs):
    return json.loads(json_tensors.to_body(outputs, form))


def refusal(function, *arguments, **named):
    with pytest.raises(ServingError) as caught:
        function(*arguments, **named)
    return caught.value.code.name, caught.value.message


def same(actual, expected):
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    np.testing.assert_array_equal(actual, expected)


def test_rows_of_one_input_are_bare_values():
    tensors, form = inputs('{"instances": ["a", {"b64": "AP8="}, "é"]}', text="string")
    assert tensors["text"].tolist() == [b"a", b"\x00\xff", "é".encode()] and form == "predictions"


def test_rows_of_several_inputs_are_objects():
    tensors, _ = inputs(
        '{"instances": [{"a": [1, 2], "b": true}, {"b": false, "a": [3, 4]}]}', a="int64", b="bool"
    )
    same(tensors["a"], np.int64([[1, 2], [3, 4]]))
    same(tensors["b"], np.array([True, False]))


def test_rows_of_one_input_may_be_named_too():
    same(inputs('{"instances": [{"x": 1}, {"x": 2}]}', x="float")[0]["x"], np.float32([1, 2]))


def test_columns():
    same(
        inputs('{"inputs": [[1.5, NaN], [-Infinity, 3]]}', x="double")[0]["x"],
        np.array([[1.5, np.nan], [-np.inf, 3]]),
    )
    tensors, form = inputs(
        '{"inputs": {"x": 7, "s": {"b64": "YQ"}, "unused": 1}}', x="uint8", s="string"
    )
    same(tensors["x"], np.array(7, np.uint8))
    assert tensors["s"].shape == () and tensors["s"].item() == b"a" and form == "outputs"
    assert inputs('{"inputs": []}', x="float")[0]["x"].shape == (0,)


def test_bytes_that_are_not_utf8_reach_the_model_as_they_are():
    assert (
        inputs(b'{"instances": ["caf\xe9\\u0000"]}', text="string")[0]["text"].item()
        == b"caf\xe9\0"
    )


@pytest.mark.parametrize(
    "text",
    [r'"\udcc3\udca9"', r'"\uDCC3\uDCA9 \ud83d\ude00"', r'{"\udca9": 1}'],
    ids=["lower", "upper", "name"],
)
def test_escapes_do_not_stand_for_bytes(text):
    """Not even those by which Python writes bytes that are not UTF-8 as text."""
    assert refusal(inputs, f'{{"instances": [{text}]}}', text="string") == (
        "INVALID_ARGUMENT",
        "JSON Parse error: The surrogate pair in string is invalid.",
    )


def test_escapes_of_whole_surrogate_pairs_are_text():
    body = r'{"instances": ["\ud83d\ude00 \\udcc3"]}'
    assert inputs(body, text="string")[0]["text"].item() == "\U0001f600 \\udcc3".encode()


@given(
    st.sampled_from(sorted(NUMPY)).flatmap(
        lambda name: st.tuples(
            st.just(name), arrays.arrays(NUMPY[name], arrays.array_shapes(max_dims=4, max_side=3))
        )
    )
)
@settings(max_examples=150, deadline=None)
def test_what_goes_out_comes_back_in(case):
    dtype, tensor = case
    if tensor.dtype.kind == "f":
        tensor = np.where(np.abs(tensor) < 2**20, tensor, 0).astype(tensor.dtype)
    for form, key in (("outputs", "inputs"), ("predictions", "instances")):
        body = json.dumps({key: answer(form, y=tensor)[form]})
        same(inputs(body, x=dtype)[0]["x"], tensor)


@given(st.lists(st.binary(max_size=20), min_size=1))
@settings(max_examples=50, deadline=None)
def test_bytes_go_out_as_base64_by_their_name(values):
    tensor = np.array(values + [None], object)[:-1]
    result = answer(image_bytes=tensor)["outputs"]
    assert [base64.b64decode(value["b64"]) for value in result] == values
    assert inputs(json.dumps({"inputs": result}), x="string")[0]["x"].tolist() == values


def test_answers():
    text = np.array([b"un", "é\0".encode(), b"\xff"], object)
    score = np.float32([0.1, -np.inf, 1e-7])
    assert answer("predictions", translation=text) == {"predictions": ["un", "é\0", "�"]}
    rows = answer("predictions", translation=text[:2], score=score[:2], ok=np.array([True, False]))[
        "predictions"
    ]
    assert rows == [
        {"translation": "un", "score": 0.1, "ok": True},
        {"translation": "é\0", "score": -np.inf, "ok": False},
    ]
    assert answer(translation=text[:1], score=score)["outputs"] == {
        "translation": ["un"],
        "score": [0.1, -np.inf, 1e-7],
    }
    assert answer(half=np.float16([0.5])) == {"outputs": [0.5]}
    body = json_tensors.to_body({"s": text[:2], "y": np.float32([1, np.nan])}, "outputs")
    # as the stock server: text raw, whole floats marked as floats
    assert "é".encode() in body and b"[1.0, NaN]" in body


def test_answers_that_cannot_be_given():
    bad = [
        ({"y": np.float32(1)}, "Tensor name: y has no shape information"),
        (
            {"y": np.zeros(2), "z": np.zeros(3)},
            "Tensor name: z has inconsistent batch size: 3 expecting: 2",
        ),
        ({"y": np.zeros(2, complex)}, "Failed to write JSON value for tensor type: complex128"),
    ]
    for outputs, message in bad:
        assert refusal(json_tensors.to_body, outputs, "predictions") == (
            "INVALID_ARGUMENT",
            message,
        )


BODIES = {
    "empty": ("", "JSON Parse error: The document is empty"),
    "cut": ('{"instances": [', "JSON Parse error: Expecting value at offset: 15"),
    "list": ("[1]", "JSON Value: [1] Is not object"),
    "too_big": (
        '{"instances": [1e999]}',
        "JSON Parse error: Number too big to be stored in double: 1e999",
    ),
    "digits": ('{"instances": [' + "9" * 5000 + "]}", "JSON Parse error: "),
    "deep": (
        '{"instances": ' + "[" * 100_000,
        "JSON Parse error: lists or objects are nested too deep",
    ),
    "neither": ("{}", "Missing 'inputs' or 'instances' key"),
    "both": ('{"instances": [1], "inputs": [1]}', "expecting only one of 'inputs' or 'instances'"),
    "no_rows": ('{"instances": []}', "No values in 'instances' array"),
    "rows_no_list": ('{"instances": 1}', "Excepting 'instances' to be an list/array"),
    "ragged": (
        '{"instances": [[1, 2], [3]]}',
        "element: 1 of 'instances' list. Error: INVALID_ARGUMENT: Expecting tensor size: 2 but",
    ),
    "transposed": ('{"instances": [[[1], [2]], [[3, 4]]]}', "Expecting shape [2,1] but got: [1,2]"),
    "mixed": (
        '{"instances": [{"x": 1}, 2]}',
        "Expecting object but got list at item 1 of input list",
    ),
    "mixed_too": (
        '{"instances": [2, {"x": 1}]}',
        "Expecting value/list but got object at item 1 of input list",
    ),
    "other_name": ('{"instances": [{"q": 1}]}', "JSON object: does not have named input: q"),
    "no_name": ('{"instances": [{}]}', "keys must be equal to: x"),
    "type": ('{"instances": ["a"]}', 'JSON Value: "a" Type: String is not of expected type: float'),
    "true": ('{"instances": [true]}', "JSON Value: true Type: True is not of expected type: float"),
    "null": ('{"instances": [null]}', "JSON Value: null Type: Null is not of expected type: float"),
    "first_lossy": (
        '{"instances": [16777216]}',
        "Cannot convert JSON value: 16777216 to float without loss of precision.",
    ),
    "lossy": (
        '{"instances": [16777217]}',
        "Cannot convert JSON value: 16777217 to float without loss of precision.",
    ),
    "range": ('{"instances": [1e39]}', "without loss of precision."),
    "level": (
        '{"inputs": [[1], 2]}',
        "JSON Value: 2 found at incorrect level: 2 in the JSON DOM. Expected at level: 2",
    ),
    "deeper": ('{"inputs": [1, [2]]}', "Encountered list at unexpected level: 1 expected < 1"),
    "size": (
        '{"inputs": [[1], [2, 3]]}',
        "Encountered list at unexpected size: 2 at level: 1 expected size: 1",
    ),
    "dimensions": (
        '{"inputs": ' + "[" * 80 + "1" + "]" * 80 + "}",
        "Encountered list at unexpected level",
    ),
    "missing": ('{"inputs": {"q": 1}}', "Missing named input: x in 'inputs' object."),
}


@pytest.mark.parametrize("name", sorted(BODIES))
def test_what_is_refused_of_one_float_input(name):
    body, message = BODIES[name]
    code, actual = refusal(inputs, body, x="float")
    assert code == "INVALID_ARGUMENT" and message in actual


@pytest.mark.parametrize(
    "body, dtype, message",
    [
        ('{"instances": [1.0]}', "int32", "Type: Number is not of expected type: int32"),
        ('{"instances": [2147483648]}', "int32", "Type: Number is not of expected type: int32"),
        ('{"instances": [-1]}', "uint64", "Type: Number is not of expected type: uint64"),
        ('{"instances": [256]}', "uint8", "Type: Number is not of expected type: uint8"),
        ('{"instances": [true]}', "int64", "Type: True is not of expected type: int64"),
        ('{"instances": [1]}', "bool", "Type: Number is not of expected type: bool"),
        ('{"instances": [1]}', "string", "Type: Number is not of expected type: string"),
        (
            '{"inputs": [{"a": 1}]}',
            "string",
            'JSON Value: {"a": 1} not formatted correctly for base64 data',
        ),
        ('{"instances": [{"b64": "?"}]}', "string", "Unable to base64 decode"),
        ('{"instances": ["\\ud800"]}', "string", "The surrogate pair in string is invalid."),
    ],
    ids=[
        "whole",
        "int32",
        "sign",
        "uint8",
        "true",
        "bool",
        "string",
        "object",
        "base64",
        "surrogate",
    ],
)
def test_what_is_refused_of_other_dtypes(body, dtype, message):
    code, actual = refusal(inputs, body, x=dtype)
    assert code == "INVALID_ARGUMENT" and message in actual


def test_what_json_cannot_hold_is_unimplemented():
    assert refusal(inputs, '{"inputs": [1]}', x="half") == (
        "UNIMPLEMENTED",
        "Conversion of JSON Value: 1 to type: half",
    )


def test_several_inputs_need_names():
    assert (
        "instances is a plain list"
        in refusal(inputs, '{"instances": [1]}', x="float", z="float")[1]
    )
    assert (
        "inputs is a plain value/list"
        in refusal(inputs, '{"inputs": [1]}', x="float", z="float")[1]
    )


def test_the_signature_name_is_a_string():
    assert json_tensors.signature_name({"signature_name": "translate"}) == "translate"
    assert json_tensors.signature_name({}) == ""
    assert (
        "'signature_name' key must be a string value"
        in refusal(json_tensors.signature_name, {"signature_name": 1})[1]
    )


def test_halves_of_surrogate_pairs_do_not_stop_an_error_message():
    assert json_bytes.encode({"error": "a\udc80"}) == b'{"error": "a?"}'


@pytest.mark.parametrize("rank", [33, 64, 300])
def test_dimensions_have_a_limit(rank):
    deep = "[" * rank + "1" + "]" * rank
    for form in ("instances", "inputs"):
        status, message = refusal(inputs, f'{{"{form}": {deep}}}', x="float")
        assert status == "INVALID_ARGUMENT" and "Encountered list at unexpected level" in message
    for form in ("instances", "inputs"):
        assert inputs(f'{{"{form}": {"[" * 32}1{"]" * 32}}}', x="float")[0]["x"].shape == (1,) * 32


def test_values_have_a_limit_before_they_are_read():
    for body in ('["a","b","c"]', "[[[[0]]]]", "[{},{}]"):
        body = f'{{"instances":{body}}}'.encode()
        marks = sum(body.count(mark) for mark in (b",", b"[", b"{"))
        assert json_tensors.parse(body, marks)["instances"]
        status, message = refusal(json_tensors.parse, body, marks - 1)
        assert (
            status == "INVALID_ARGUMENT"
            and f"expected at most {marks - 1} values" in message
            and f"got {marks}" in message
        )


@pytest.mark.parametrize(
    "body, rows",
    [
        ({"instances": ["a"] * 7}, 7),
        ({"inputs": ["a"] * 7}, 7),
        ({"inputs": {"x": [1, 2], "y": [1, 2, 3]}}, 3),
        ({"inputs": "a"}, 1),
        ({"inputs": {"x": 1}}, 1),
        ({}, 1),
        ({"instances": None}, 1),
        ({"instances": {}}, 1),
    ],
)
def test_rows_are_counted_before_they_are_tensors(body, rows):
    assert json_tensors.row_count(body) == rows


def test_a_name_that_is_no_utf8_is_refused_by_a_signature_too():
    """A protocol buffer's map cannot even be asked for such a name."""
    signature = SignatureDef(inputs=infos(text="string"))
    document = json_tensors.parse(b'{"instances": [{"caf\xe9": 1}]}')
    assert refusal(json_tensors.to_inputs, document, signature.inputs)[0] == "INVALID_ARGUMENT"
