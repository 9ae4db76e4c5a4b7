"""REST: paths, shapes of JSON, and HTTP statuses."""

import math

import pytest

TOY = "/v1/models/toy"


@pytest.mark.parametrize("path", [TOY, f"{TOY}/versions/2"], ids=["all", "version"])
def test_status_of_a_model(rest, path):
    status = {"error_code": "OK", "error_message": ""}
    rows = [{"version": "2", "state": "AVAILABLE", "status": status}]
    assert rest("GET", path) == (200, {"model_version_status": rows})


def test_metadata_of_a_model(rest):
    code, answer = rest("GET", f"{TOY}/versions/2/metadata")
    assert code == 200
    assert (answer["model_spec"]["name"], answer["model_spec"]["version"]) == ("toy", "2")
    text = answer["metadata"]["signature_def"]["signature_def"]["serving_default"]["inputs"]["text"]
    assert text["dtype"] == "DT_STRING"
    assert [dim["size"] for dim in text["tensor_shape"]["dim"]] == ["-1"]


ROW = {"translation": "v2:a", "score": 1.0, "source_truncated": False}


@pytest.mark.parametrize(
    "body, answer",
    [
        ({"signature_name": "half_plus", "instances": [2, 4.0]}, {"predictions": [4.0, 5.0]}),
        ({"signature_name": "half_plus", "inputs": [2, 4.0]}, {"outputs": [4.0, 5.0]}),
        ({"instances": [{"text": "a"}]}, {"predictions": [ROW]}),
        ({"inputs": {"text": ["a"]}}, {"outputs": {name: [ROW[name]] for name in ROW}}),
    ],
    ids=["rows", "columns", "named rows", "named columns"],
)
def test_predict(rest, body, answer):
    assert rest("POST", f"{TOY}/versions/2:predict", body) == (200, answer)


def test_bytes_both_ways_and_numbers_json_lacks(rest):
    """`a_bytes` comes back in base64 for its name; NaN and infinities as the bare words of the
    stock server.
    """
    numbers = {"b": True, "i32": -1, "i64": 2**40, "f32": [1.5, 2.0], "f64": 1e300, "u8": 255}
    rows = [{"a_bytes": {"b64": "AP8="}} | numbers]
    body = {"signature_name": "echo", "instances": rows}
    assert rest("POST", f"{TOY}:predict", body) == (200, {"predictions": rows})
    body = '{"signature_name": "half_plus", "instances": [NaN, Infinity, -Infinity]}'
    code, answer = rest("POST", f"{TOY}:predict", body)
    assert code == 200 and math.isnan(answer["predictions"][0])
    assert answer["predictions"][1:] == [math.inf, -math.inf]


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "[" * 100_000,
        b"\xff",
        {},
        {"instances": ["a"], "inputs": ["a"]},
        {"signature_name": "none", "instances": ["a"]},
        {"signature_name": 1, "instances": ["a"]},
        {"instances": "a"},
        {"instances": [1]},
        {"instances": [["a"], ["b", "c"]]},
        {"instances": [{"b64": "?"}]},
        {"instances": [{"words": "a"}]},
        {"instances": [{"text": "a"}, {"x": "b"}]},
        {"signature_name": "half_plus", "instances": ["a"]},
        {"signature_name": "slow", "instances": [1.0]},
        {"signature_name": "half_plus", "instances": [True]},
        {"signature_name": "half_plus", "instances": [[1], [1, 2]]},
        {"signature_name": "refuse", "instances": [-1.0]},
    ],
    ids=lambda body: str(body)[:40],
)
def test_bodies_that_are_refused(rest, body):
    status, answer = rest("POST", f"{TOY}:predict", body)
    assert (status, list(answer)) == (400, ["error"])


@pytest.mark.parametrize("model", ["none", "toy/versions/9"])
def test_nothing_of_that_name(rest, model):
    path = f"/v1/models/{model}"
    requests = [("POST", f"{path}:predict", {"instances": ["a"]})]
    for words in [*requests, ("GET", path), ("GET", f"{path}/metadata")]:
        status, answer = rest(*words)
        assert (status, list(answer)) == (404, ["error"])
