"""REST with the engine behind it: time limits, text as it comes, and what the metrics count."""

import http.client
import json

from toy_calls import Toy

from rnnsearch_tf.extras.server.flags import FREE


def post(server, body):
    return ask(
        server,
        "POST",
        "/v1/models/toy:predict",
        body if isinstance(body, bytes) else json.dumps(body).encode(),
    )


def ask(server, method, path, body=None):
    """(status, body) of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", server.rest_port, timeout=30)
    connection.request(method, path, body)
    response = connection.getresponse()
    text = response.read()
    connection.close()
    return response.status, text


def test_what_takes_too_long_is_504(served, toy_base):
    server = served(toy_base, rest_api_port=FREE, rest_api_timeout_in_ms=300)
    row = {"x": 1.0, "seconds": 1000.0}
    status, answer = post(server, {"signature_name": "slow", "instances": [row]})
    assert status == 504 and json.loads(answer)["error"]
    assert post(server, {"signature_name": "slow", "instances": [row | {"seconds": 0.0}]}) == (
        200,
        b'{"predictions": [1.0]}',
    )


def test_text_of_all_kinds(served, toy_base):
    server = served(toy_base, rest_api_port=FREE)
    texts = ["", "é\0", "e\u0301", "\U0001f600", "\u202eabc", "a" * 10_000, '"\\\n']
    status, answer = post(server, {"inputs": texts})
    assert status == 200 and json.loads(answer)["outputs"]["translation"] == [
        f"v2:{text}" for text in texts
    ]
    assert json.loads(answer)["outputs"]["score"] == [len(text.encode()) for text in texts]
    # Latin-1: the model sees its bytes, the answer is UTF-8 all the same
    status, answer = post(server, b'{"inputs": ["caf\xe9"]}')
    assert status == 200 and json.loads(answer)["outputs"] == {
        "score": [4.0],
        "source_truncated": [False],
        "translation": ["v2:caf\ufffd"],
    }


def test_metrics_of_both_interfaces_where_the_monitoring_file_says(served, toy_base, tmp_path):
    monitoring = tmp_path / "monitoring.config"
    monitoring.write_text('prometheus_config { enable: true path: "/numbers" }')
    server = served(
        toy_base, rest_api_port=FREE, monitoring_config_file=str(monitoring), enable_batching=True
    )
    assert post(server, {"instances": ["a"]})[0] == 200
    with Toy(f"127.0.0.1:{server.grpc_port}") as toy:
        toy.predict("half_plus", x=[2.0])
    status, page = ask(server, "GET", "/numbers")
    lines = page.decode().splitlines()
    assert status == 200
    for line in (
        ':tensorflow:serving:request_count{model_name="toy",status="OK"} 2',
        (
            ':tensorflow:serving:request_latency_count{model_name="toy",API="Predict",'
            'entrypoint="REST"} 1'
        ),
        (
            ':tensorflow:serving:request_latency_count{model_name="toy",API="Predict",'
            'entrypoint="GRPC"} 1'
        ),
        ":tensorflow:core:graph_runs{} 2",
        ":tensorflow:serving:batching_session:wrapped_run_count{} 2",
    ):
        assert line in lines
