"""The embedded server as a client meets it: real SavedModels, real sockets."""

import concurrent.futures
import contextlib
import os
import threading

import grpc
import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tensorflow_serving.apis import (
    classification_pb2,
    model_management_pb2,
    model_service_pb2_grpc,
    prediction_log_pb2,
)
from toy_calls import Toy, decoded, refusal
from toy_model import Gate, write_corrupt, write_toy

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.extras.server.flags import FREE, Flags
from rnnsearch_tf.extras.server.server import Server

LONG = 30


@pytest.fixture
def toy(served):
    """toy(base, **flags) → (Server, Toy)."""
    clients = []

    def start(base, **flags):
        server = served(base, **flags)
        clients.append(Toy(f"127.0.0.1:{server.grpc_port}"))
        return server, clients[-1]

    yield start
    for client in clients:
        client.channel.close()


def wait_until(condition, seconds=LONG):
    end = threading.Event()
    for _ in range(seconds * 100):
        if condition():
            return
        end.wait(0.01)
    raise AssertionError("it never came so far")


def state(row):
    return type(row).State.Name(row.state)


def test_a_new_version_under_load_fails_no_request_and_gives_no_wrong_answer(toy, tmp_path):
    write_toy(tmp_path, 1)
    _, client = toy(tmp_path)
    stop = threading.Event()
    answers = []

    def load():
        while not stop.is_set():
            response = client.stub.Predict(
                client.request("half_plus", None, "", {"x": [2.0]}), timeout=LONG
            )
            answers.append((response.model_spec.version.value, float(decoded(response)["y"][0])))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        workers = [pool.submit(load) for _ in range(4)]
        try:
            for version in (2, 3):
                write_toy(tmp_path, version)
                wait_until(lambda: answers and answers[-1][0] == version)
        finally:
            stop.set()
        for worker in workers:
            worker.result()  # a failed request is an error here
    assert {version for version, _ in answers} == {1, 2, 3}
    assert all(y == 2 / 2 + 1 + version for version, y in answers)
    wait_until(
        lambda: (
            {number: state(row) for number, row in client.status().items()}
            == {3: "AVAILABLE", 2: "END", 1: "END"}
        )
    )


def test_a_corrupt_version_leaves_the_old_one_answering_and_its_status_says_why(toy, tmp_path):
    write_toy(tmp_path, 1)
    _, client = toy(tmp_path)
    write_corrupt(tmp_path, 2)
    wait_until(lambda: 2 in client.status() and state(client.status()[2]) == "END")
    failed = client.status()[2].status
    assert failed.error_code != 0 and "saved_model" in failed.error_message.lower()
    assert state(client.status()[1]) == "AVAILABLE"
    assert client.predict("half_plus", x=[2.0])["y"] == [3.0]


def test_concurrent_requests_share_a_call_and_each_gets_its_own_rows(toy, toy_base, tmp_path):
    parameters = tmp_path / "batching.config"
    parameters.write_text("max_batch_size { value: 6 } batch_timeout_micros { value: 20000000 }")
    _, client = toy(toy_base, enable_batching=True, batching_parameters_file=str(parameters))
    calls = [
        client.begin("serving_default", text=[f"{word}{row}" for row in range(rows)])
        for word, rows in (("a", 1), ("b", 2), ("c", 3))
    ]
    for call, word, rows in zip(calls, "abc", (1, 2, 3)):
        assert decoded(call.result(LONG))["translation"].tolist() == [
            f"v2:{word}{row}".encode() for row in range(rows)
        ]
    merged = [client.begin("rows", x=[1.0, 2.0]) for _ in range(3)]
    assert [decoded(call.result(LONG))["rows"].tolist() for call in merged] == [[6, 6]] * 3
    assert refusal(client.predict, "half_plus", x=[1.0] * 7)[0] == "INVALID_ARGUMENT"


def test_a_full_queue_is_unavailable(toy, toy_base, tmp_path):
    parameters = tmp_path / "batching.config"
    parameters.write_text(
        "max_batch_size { value: 1 } max_enqueued_batches { value: 1 } num_batch_threads {"
        " value: 1 }"
    )
    _, client = toy(toy_base, enable_batching=True, batching_parameters_file=str(parameters))
    gate = Gate(tmp_path)
    running = client.begin("gate", path=[gate.path])
    gate.wait_until_entered()
    asked = [client.begin("gate", path=[gate.path]) for _ in range(3)]  # one waits, two are refused
    wait_until(lambda: sum(call.done() for call in asked) == 2)
    gate.open()
    running.result(LONG)
    statuses = [
        call.exception(LONG).code().name if call.exception(LONG) else "OK" for call in asked
    ]
    assert sorted(statuses) == ["OK", "UNAVAILABLE", "UNAVAILABLE"]


@pytest.mark.parametrize("batching", [False, True], ids=["alone", "batched"])
def test_a_deadline_breaks_the_run_off(toy, toy_base, batching):
    server, client = toy(toy_base, enable_batching=batching)
    assert (
        refusal(client.predict, "slow", timeout=0.2, x=[1.0], seconds=[15.0])[0]
        == "DEADLINE_EXCEEDED"
    )
    runs = server.core.metrics
    # counted when it ends: it does not run for 15 s
    wait_until(lambda: ":tensorflow:core:graph_runs{} 1" in runs.page(), seconds=10)


def test_rows_beyond_those_that_run_wait_no_longer_than_their_callers(toy, toy_base, tmp_path):
    server, client = toy(toy_base, max_request_rows=2)
    gate = Gate(tmp_path)
    running = client.begin("gate", path=[gate.path])
    gate.wait_until_entered()
    assert refusal(client.predict, "half_plus", timeout=0.3, x=[1.0, 2.0])[0] == "DEADLINE_EXCEEDED"
    waiting = client.begin("half_plus", x=[2.0, 4.0])
    assert not waiting.done()
    gate.open()
    running.result(LONG)
    assert decoded(waiting.result(LONG))["y"].tolist() == [4.0, 5.0]
    # what nobody waited for has not run
    assert ":tensorflow:core:graph_runs{} 2" in server.core.metrics.page()
    assert "expected at most 2 rows" in refusal(client.predict, "half_plus", x=[1.0] * 3)[1]


def test_a_stop_finishes_what_was_accepted(toy, toy_base, tmp_path):
    server, client = toy(toy_base)
    gate = Gate(tmp_path)
    accepted = client.begin("gate", path=[gate.path])
    gate.wait_until_entered()
    stopping = threading.Thread(target=server.stop)
    stopping.start()
    wait_until(lambda: refused_now(client))
    assert not accepted.done()
    gate.open()
    assert decoded(accepted.result(LONG))["opened"].tolist() == [gate.path.encode()]
    stopping.join(LONG)
    assert not stopping.is_alive()


@pytest.mark.parametrize("batching", [False, True], ids=["alone", "batched"])
def test_a_stop_breaks_off_what_does_not_end_in_its_grace(toy, toy_base, tmp_path, batching):
    server, client = toy(toy_base, enable_batching=batching)
    gate = Gate(tmp_path)
    stuck = client.begin("gate", path=[gate.path])
    gate.wait_until_entered()
    stopping = threading.Thread(target=server.stop, args=[0.2])
    stopping.start()
    stopping.join(LONG / 2)
    try:
        assert not stopping.is_alive()
        assert stuck.exception(LONG).code().name in ("CANCELLED", "UNAVAILABLE")
        # the run itself has ended
        wait_until(
            lambda: ":tensorflow:core:graph_runs{} 1" in server.core.metrics.page(), seconds=10
        )
    finally:
        gate.open()


def refused_now(client):
    try:
        client.predict("half_plus", x=[1.0], timeout=0.5)
    except grpc.RpcError as error:
        return error.code() is grpc.StatusCode.UNAVAILABLE
    return False


def test_health_says_whether_it_serves(toy, toy_base):
    _, client = toy(toy_base)
    health = health_pb2_grpc.HealthStub(client.channel)
    for service in ("", "tensorflow.serving.PredictionService"):
        assert (
            health.Check(health_pb2.HealthCheckRequest(service=service), timeout=LONG).status
            == health_pb2.HealthCheckResponse.SERVING
        )
    _, without = toy(toy_base, enable_grpc_healthcheck_service=False)
    stub = health_pb2_grpc.HealthStub(without.channel)
    assert refusal(stub.Check, health_pb2.HealthCheckRequest(), timeout=LONG)[0] == "UNIMPLEMENTED"


def test_what_is_not_served_says_so(toy, toy_base):
    _, client = toy(toy_base)
    assert (
        refusal(client.stub.Classify, classification_pb2.ClassificationRequest(), timeout=LONG)[0]
        == "UNIMPLEMENTED"
    )


def test_who_reaches_grpc_loads_only_what_is_allowed(toy, toy_base, tmp_path):
    write_toy(tmp_path, 7)
    other = (
        f'config {{ model_config_list {{ config {{ name: "other" base_path: "{tmp_path}"'
        ' model_platform: "tensorflow" } } }'
    )
    request = text_format.Parse(other, model_management_pb2.ReloadConfigRequest())
    for flags in ({"allow_reload_requests": False}, {"allowed_model_roots": str(toy_base)}):
        _, client = toy(toy_base, **flags)
        stub = model_service_pb2_grpc.ModelServiceStub(client.channel)
        assert (
            refusal(stub.HandleReloadConfigRequest, request, timeout=LONG)[0] == "PERMISSION_DENIED"
        )
        assert client.predict("half_plus", x=[2.0])["y"] == [4.0]


def warm_up_record(**inputs):
    log = prediction_log_pb2.PredictionLog()
    request = log.predict_log.request
    request.model_spec.signature_name = "refuse"
    for name, value in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(np.float32(value)))
    return log


def test_warm_up_runs_before_the_first_request_and_its_failure_is_the_loads(toy, tmp_path):
    write_toy(tmp_path, 1, warm_up=[warm_up_record(x=[1.0]), warm_up_record(x=[2.0])])
    server, client = toy(tmp_path, num_request_iterations_for_warmup=3)
    assert ":tensorflow:core:graph_runs{} 6" in server.core.metrics.page()
    write_toy(tmp_path, 2, warm_up=[warm_up_record(x=[1.0]), warm_up_record(x=[-1.0])])
    wait_until(lambda: 2 in client.status() and state(client.status()[2]) == "END")
    message = client.status()[2].status.error_message
    assert "warm-up request 2" in message and "x must not be negative" in message


def test_without_warm_up_a_failing_request_of_its_file_is_not_run(toy, tmp_path):
    write_toy(tmp_path, 1, warm_up=[warm_up_record(x=[-1.0])])
    _, client = toy(tmp_path, enable_model_warmup=False)
    assert client.predict("half_plus", x=[2.0])["y"] == [3.0]


def write_models(path, base, more):
    """A configuration file of one model, put in its place at once."""
    config = f'name: "toy" base_path: "{base}" model_platform: "tensorflow" {more}'
    path.with_suffix(".new").write_text(f"model_config_list {{ config {{ {config} }} }}")
    path.with_suffix(".new").rename(path)


def test_the_configuration_file_is_read_again(toy_base, tmp_path):
    config = tmp_path / "models.config"

    def write(version):
        write_models(
            config, toy_base, f"model_version_policy {{ specific {{ versions: {version} }} }}"
        )

    write(2)
    flags = Flags(
        model_config_file=str(config),
        model_config_file_poll_wait_seconds=1,
        port=FREE,
        rest_api_port=0,
    )
    with Server(flags) as server, Toy(f"127.0.0.1:{server.grpc_port}") as client:
        assert client.predict("half_plus", x=[2.0])["y"] == [4.0]
        config.write_text("this is no configuration")
        write(1)
        wait_until(
            lambda: (
                1 in client.status()
                and state(client.status()[1]) == "AVAILABLE"
                and state(client.status()[2]) == "END"
            )
        )
        assert client.predict("half_plus", x=[2.0])["y"] == [3.0]


def test_a_label_of_a_version_that_is_still_to_come_moves_when_it_is_there(tmp_path, caplog):
    """The stock server applies the file at every poll, so also once the version has loaded."""
    write_toy(tmp_path / "toy", 1)
    config = tmp_path / "models.config"

    def write(label):
        write_models(
            config,
            tmp_path / "toy",
            'model_version_policy { all {} } version_labels { key: "stable" value:'
            f" {label} }}",
        )

    write(1)
    flags = Flags(
        model_config_file=str(config),
        model_config_file_poll_wait_seconds=1,
        file_system_poll_wait_seconds=0.02,
        allow_version_labels_for_unavailable_models=True,
        port=FREE,
        rest_api_port=0,
    )
    with Server(flags) as server, Toy(f"127.0.0.1:{server.grpc_port}") as client:
        assert client.predict("half_plus", label="stable", x=[2.0])["y"] == [3.0]
        write(2)
        wait_until(lambda: "assign label to version 2" in caplog.text)
        assert client.predict("half_plus", label="stable", x=[2.0])["y"] == [3.0]
        write_toy(tmp_path / "toy", 2)
        wait_until(
            lambda: client.predict("half_plus", label="stable", x=[2.0])["y"] == [4.0], seconds=10
        )


def test_a_unix_socket(served, toy_base, tmp_path):
    server = served(toy_base, port=0, grpc_socket_path=str(tmp_path / "s"))
    assert server.grpc_port is None
    with Toy(f"unix:{tmp_path}/s") as client:
        assert client.predict("half_plus", x=[2.0])["y"] == [4.0]


@pytest.mark.parametrize("flag", ["port", "rest_api_port"])
def test_a_port_that_is_taken(served, toy_base, flag):
    first = served(toy_base, rest_api_port=FREE)
    taken = {"port": first.grpc_port, "rest_api_port": first.rest_port}[flag]
    with pytest.raises(UserError, match=f"127.0.0.1:{taken}: expected a free address"):
        served(toy_base, **{flag: taken})


@pytest.mark.parametrize("flag", ["port", "rest_api_port"])
def test_a_port_that_is_taken_is_said_before_models_are_loaded(served, toy_base, tmp_path, flag):
    first = served(toy_base, rest_api_port=FREE)
    taken = {"port": first.grpc_port, "rest_api_port": first.rest_port}[flag]
    with pytest.raises(UserError, match=f"127.0.0.1:{taken}: expected a free address"):
        served(tmp_path / "no-model", **{flag: taken})


def test_a_start_without_a_model_says_what_is_missing(served, tmp_path):
    with pytest.raises(UserError, match=f"did not become available.*no version in {tmp_path}"):
        served(tmp_path)
    write_corrupt(tmp_path, 1)
    with pytest.raises(UserError, match="version: 1 due to error"):
        served(tmp_path)


def written(tmp_path, config, **changes):
    """Path of a file with the SSLConfig, changed."""
    changed = type(config)()
    changed.CopyFrom(config)
    for name, value in changes.items():
        setattr(changed, name, value)
    (tmp_path / "ssl.config").write_text(text_format.MessageToString(changed))
    return str(tmp_path / "ssl.config")


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"server_key": "no key"}, "expected in server_key a private key"),
        ({"server_cert": "no certificate"}, "in server_cert its certificate"),
        ({"custom_ca": ""}, "client_verify: expected custom_ca"),
        ({"custom_ca": "no certificate"}, "custom_ca: expected certificates in PEM"),
        ({"custom_ca": "é"}, "custom_ca: expected certificates in PEM"),
    ],
    ids=["key", "certificate", "no-authority", "authority", "not-ascii"],
)
def test_tls_that_no_client_could_speak(served, toy_base, tmp_path, certificates, changes, message):
    with pytest.raises(UserError, match="ssl.config: ") as caught:
        served(toy_base, ssl_config_file=written(tmp_path, certificates.config, **changes))
    assert message in str(caught.value)


def test_the_key_of_another_certificate(served, toy_base, tmp_path, certificates):
    with pytest.raises(UserError, match="key values mismatch"):
        served(
            toy_base,
            ssl_config_file=written(
                tmp_path, certificates.config, server_key=certificates.client_key.decode()
            ),
        )


def test_where_tls_is_asked_for_there_is_no_plain_http_beside_it(
    served, toy_base, tmp_path, certificates, caplog
):
    before = listening_ports()
    server = served(
        toy_base, rest_api_port=FREE, ssl_config_file=written(tmp_path, certificates.config)
    )
    assert listening_ports() - before == {server.grpc_port} and server.rest_port is None
    assert "REST is off" in caplog.text
    caplog.clear()
    served(toy_base, rest_api_port=0, ssl_config_file=written(tmp_path, certificates.config))
    assert "REST" not in caplog.text


def listening_ports():
    """TCP ports that this process listens on, as the system has them."""
    own = set()
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            own.add(os.readlink(f"/proc/self/fd/{descriptor}"))
    rows = [
        line.split()
        for file in ("tcp", "tcp6")
        for line in open(f"/proc/net/{file}").read().splitlines()[1:]
    ]
    return {
        int(row[1].rpartition(":")[2], 16)
        for row in rows
        if row[3] == "0A" and f"socket:[{row[9]}]" in own
    }


def test_tls(served, toy_base, tmp_path, certificates):
    config = tmp_path / "ssl.config"
    config.write_text(text_format.MessageToString(certificates.config))
    server = served(toy_base, ssl_config_file=str(config))
    address = f"localhost:{server.grpc_port}"
    trusted = {"root_certificates": certificates.authority}
    known = trusted | {
        "private_key": certificates.client_key,
        "certificate_chain": certificates.client,
    }
    with Toy(address, grpc.ssl_channel_credentials(**known)) as client:
        assert client.predict("half_plus", x=[2.0])["y"] == [4.0]
    for credentials in (
        None,
        grpc.ssl_channel_credentials(),
        grpc.ssl_channel_credentials(**trusted),
    ):
        with Toy(address, credentials) as client:
            assert refusal(client.predict, "half_plus", timeout=5, x=[2.0])[0] in (
                "UNAVAILABLE",
                "DEADLINE_EXCEEDED",
            )
