"""The server: deadlines, a stop that drains, versions, REST's limits, the page's files,
and `rnnsearch serve` as a process.
"""

import concurrent.futures
import http.client
import json
import re
import signal
import subprocess
import sys
import threading
import time

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc
from toy_model import write_toy

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.extras.server.client import Client
from rnnsearch_tf.extras.server.rest import LONGEST_BODY, PAGE
from rnnsearch_tf.extras.server.servable import Servable, ServingError
from rnnsearch_tf.extras.server.server import Server


def slow(port, seconds):
    """The future of a call of `slow`, and its channel."""
    channel = grpc.insecure_channel(f"127.0.0.1:{port}")
    request = predict_pb2.PredictRequest()
    request.model_spec.name = "toy"
    request.model_spec.signature_name = "slow"
    request.inputs["x"].CopyFrom(tf.make_tensor_proto(np.float32([1])))
    request.inputs["seconds"].CopyFrom(tf.make_tensor_proto(np.float32([seconds])))
    stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
    return stub.Predict.future(request, timeout=60), channel


def ask(port, method, path, body=None, headers={}):
    """(status, headers, body) of one REST request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    answer = response.status, response.headers, response.read()
    connection.close()
    return answer


def test_a_run_ends_at_its_deadline(toy_base):
    """The run itself ends, not only the wait for it: the next one has the processor."""
    model = Servable("toy", toy_base)
    inputs = {"x": np.float32([1]), "seconds": np.float32([30])}
    start = time.monotonic()
    with pytest.raises(ServingError) as refusal:
        model.run("slow", inputs, [], 0.3)
    assert refusal.value.code is grpc.StatusCode.DEADLINE_EXCEEDED
    assert time.monotonic() - start < 5
    before = time.process_time()
    time.sleep(0.5)
    assert time.process_time() - before < 0.3


def test_the_newest_version_by_number_is_served(tmp_path):
    for version in (9, 10):
        write_toy(tmp_path, version)
    (tmp_path / "11").mkdir()  # without a model
    assert Servable("toy", tmp_path).version == 10
    with pytest.raises(UserError, match="expected a folder with a SavedModel in a numbered folder"):
        Servable("toy", tmp_path / "11")


def test_a_port_that_is_taken(toy_base, server):
    for ports in ({"port": server.port}, {"rest_api_port": server.rest_api_port}):
        other = Server("toy", toy_base, **({"port": 0, "rest_api_port": 0} | ports))
        with pytest.raises(UserError, match="expected free ports of this machine"), other:
            pass


def test_a_page_of_another_name_cannot_ask_a_server_on_the_loopback(server):
    status, _, _ = ask(
        server.rest_api_port, "GET", "/v1/models/toy", headers={"Host": "evil.example"}
    )
    assert status == 400
    for host in ("localhost:1", "127.0.0.1"):
        assert ask(server.rest_api_port, "GET", "/v1/models/toy", headers={"Host": host})[0] == 200


@pytest.mark.parametrize(
    "body, status",
    [(b" " * (LONGEST_BODY + 1), 413), (iter([b"{}"]), 411)],
    ids=["large", "chunked"],
)
def test_a_body_that_is_too_large_or_of_unknown_length(server, body, status):
    answer = ask(server.rest_api_port, "POST", "/v1/models/toy:predict", body)
    assert answer[0] == status and "expected a body" in json.loads(answer[2])["error"]


def test_a_request_over_rest_that_takes_too_long(server, monkeypatch):
    monkeypatch.setattr("rnnsearch_tf.extras.server.rest.REST_TIMEOUT", 0.2)
    body = {"signature_name": "slow", "inputs": {"x": [2.0], "seconds": [20.0]}}
    assert ask(server.rest_api_port, "POST", "/v1/models/toy:predict", json.dumps(body))[0] == 504


def test_the_page_and_which_model_it_asks(server):
    status, headers, body = ask(server.rest_api_port, "GET", "/")
    assert status == 200 and "text/html" in headers["Content-Type"]
    assert body == (PAGE / "index.html").read_bytes()
    assert json.loads(ask(server.rest_api_port, "GET", "/model.json")[2]) == {
        "name": "toy",
        "about": {},
    }
    for method, path, expected in (
        ("GET", "/../server.py", 404),
        ("GET", "/v1/models/toy/versions/abc", 404),
        ("POST", "/v1/models/toy:classify", 405),
    ):
        status, _, body = ask(server.rest_api_port, method, path)
        assert (status, list(json.loads(body))) == (expected, ["error"])


def test_the_command_answers_what_it_has_accepted_when_it_is_told_to_end(toy_base):
    words = ["serve", "--model-name", "toy", "--model-base-path", str(toy_base), "--port", "0"]
    command = [sys.executable, "-m", "rnnsearch_tf", *words, "--rest-api-port", "0"]
    body = {"signature_name": "slow", "inputs": {"x": [2.0], "seconds": [1.0]}}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        watchdog = threading.Timer(120, process.kill)
        watchdog.start()
        for line in process.stderr:
            if match := re.search(r"gRPC on 127\.0\.0\.1:(\d+)", line):
                port = int(match[1])
            if match := re.search(r"REST .* http://127\.0\.0\.1:(\d+)/", line):
                rest_port = int(match[1])
                break
        with Client(f"127.0.0.1:{port}", "toy", deadline=60) as client:
            assert client.translate(["a"]) == ["v2:a"]
        future, channel = slow(port, 1.0)
        with channel, concurrent.futures.ThreadPoolExecutor(1) as threads:
            path = "/v1/models/toy:predict"
            over_rest = threads.submit(ask, rest_port, "POST", path, json.dumps(body))
            time.sleep(0.5)
            process.send_signal(signal.SIGTERM)
            assert list(future.result(20).outputs["y"].float_val) == [1.0]
            assert json.loads(over_rest.result(20)[2]) == {"outputs": [2.0]}
        assert process.wait(60) == 0
        assert process.stderr.read().endswith("stopping: finishing requests in flight first\n")
        watchdog.cancel()
