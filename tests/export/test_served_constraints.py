"""Constraints asked of the embedded server, over gRPC and REST."""

import http.client
import json

import grpc
import pytest
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from rnnsearch_tf.extras.server.flags import FREE, Flags
from rnnsearch_tf.extras.server.server import Server

LINES = ["My sister reads an old book.", "the blue door", ""]
PHRASES = [["vieux livre", "Zoé"], [], []]


@pytest.fixture(scope="module")
def server(exported):
    flags = Flags(
        {"mine": str(exported.parent)},
        port=FREE,
        rest_api_port=FREE,
        enable_batching=True,
        enable_model_warmup=False,
    )
    with Server(flags) as server:
        yield server


@pytest.fixture(scope="module")
def expected(translator):
    return [
        translation.text
        for translation in translator.translate(LINES, PHRASES, replace_unknown=True)
    ]


@pytest.mark.slow
def test_rest(server, expected):
    rows = [
        {"text": text, "constraints": "\t".join(phrases)} for text, phrases in zip(LINES, PHRASES)
    ]
    connection = http.client.HTTPConnection("127.0.0.1", server.rest_port, timeout=120)
    connection.request(
        "POST",
        "/v1/models/mine:predict",
        json.dumps({"signature_name": "translate_constrained", "instances": rows}),
    )
    answer = json.loads(connection.getresponse().read())
    connection.close()
    assert [row["translation"] for row in answer["predictions"]] == expected
    assert all(row["constraints_met"] for row in answer["predictions"])


@pytest.mark.slow
def test_grpc(server, expected):
    request = predict_pb2.PredictRequest()
    request.model_spec.name = "mine"
    request.model_spec.signature_name = "translate_constrained"
    for name, values in {
        "text": LINES,
        "constraints": ["\t".join(phrases) for phrases in PHRASES],
    }.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(values))
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        answer = prediction_service_pb2_grpc.PredictionServiceStub(channel).Predict(
            request, timeout=120
        )
    assert [text.decode() for text in answer.outputs["translation"].string_val] == expected
