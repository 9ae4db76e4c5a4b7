"""The embedded server as a client meets it: real SavedModels, real sockets."""

import concurrent.futures
import http.client
import itertools
import json
import os
import shutil
import threading
import time

import grpc
import numpy as np
import psutil
import pytest
import tensorflow as tf
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2
from tensorflow_serving.apis import (
    classification_pb2,
    model_management_pb2,
    prediction_log_pb2,
    regression_pb2,
)
from toy_calls import Toy, decoded, model_processes, refusal, toy_server, wait_until
from toy_model import Gate, write_corrupt, write_toy

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.extras.server.flags import FREE, Flags
from rnnsearch_tf.extras.server.process import IDLE_SECONDS, PROBE_SECONDS
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


@pytest.fixture
def shared(shared_server):
    """A Toy of the server that all tests share."""
    with Toy(f"127.0.0.1:{shared_server.grpc_port}") as client:
        yield client


def metric(server, name):
    """The value of a line of the metrics page."""
    connection = http.client.HTTPConnection("127.0.0.1", server.rest_port, timeout=LONG)
    connection.request("GET", "/monitoring/prometheus/metrics")
    lines = connection.getresponse().read().decode().splitlines()
    connection.close()
    (line,) = (line for line in lines if line.startswith(f"{name} "))
    return float(line.rpartition(" ")[2])


# ---- versions ----


def test_the_newest_version_answers_and_says_so(shared):
    request = shared.request("half_plus", None, "", {"x": [2.0]})
    answer = shared.stub.Predict(request, timeout=LONG)
    assert decoded(answer)["y"].tolist() == [2 / 2 + 1 + 2]
    spec = answer.model_spec
    assert (spec.name, spec.version.value, spec.signature_name) == ("toy", 2, "half_plus")
    assert shared.predict("half_plus", version=2, x=[2.0])["y"] == [4.0]
    assert shared.states() == {2: "AVAILABLE"}
    assert refusal(shared.predict, "half_plus", version=1, x=[2.0]) == (
        "NOT_FOUND",
        "Servable not found for request: Specific(toy, 1)",
    )
    assert refusal(shared.predict, "half_plus", label="stable", x=[2.0]) == (
        "INVALID_ARGUMENT",
        "Unrecognized servable version label: stable",
    )


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
    wait_until(lambda: client.states() == {3: "AVAILABLE", 2: "END", 1: "END"})


def test_a_request_to_an_old_version_ends_before_its_process_does(toy, tmp_path):
    write_toy(tmp_path / "models", 1)
    before = model_processes()
    _, client = toy(tmp_path / "models")
    (old,) = model_processes() - before
    gate = Gate(tmp_path)
    running = client.begin("gate", path=[gate.path])
    gate.wait_until_entered()
    write_toy(tmp_path / "models", 2)
    wait_until(lambda: client.predict("half_plus", x=[2.0])["y"] == [4.0])
    assert client.states() == {2: "AVAILABLE", 1: "UNLOADING"} and not running.done()
    gate.open()
    assert decoded(running.result(LONG))["opened"].tolist() == [gate.path.encode()]
    wait_until(lambda: client.states() == {2: "AVAILABLE", 1: "END"} and not old.is_running())


def test_a_corrupt_version_leaves_the_old_one_answering_and_its_status_says_why(toy, tmp_path):
    write_toy(tmp_path, 1)
    _, client = toy(tmp_path)
    write_corrupt(tmp_path, 2)
    wait_until(lambda: client.states().get(2) == "END")
    failed = client.status()[2].status
    assert failed.error_code != 0 and "saved_model" in failed.error_message.lower()
    assert client.states()[1] == "AVAILABLE"
    assert client.predict("half_plus", x=[2.0])["y"] == [3.0]
    assert client.health() == "SERVING"
    shutil.rmtree(tmp_path / "2")
    write_toy(tmp_path, 2)  # the export takes the number that is free again
    wait_until(lambda: client.states() == {2: "AVAILABLE", 1: "END"})
    assert client.status()[2].status.error_message == ""
    assert client.predict("half_plus", x=[2.0])["y"] == [4.0]


def test_a_base_path_that_goes_away_unloads_nothing_and_may_come_back(toy, tmp_path, caplog):
    write_toy(tmp_path / "models", 1)
    _, client = toy(tmp_path / "models")
    (tmp_path / "models").rename(tmp_path / "away")
    for _ in range(20):
        assert client.predict("half_plus", x=[2.0])["y"] == [3.0]
    assert client.states() == {1: "AVAILABLE"}
    write_toy(tmp_path / "away", 2)
    (tmp_path / "away").rename(tmp_path / "models")
    wait_until(lambda: client.states() == {2: "AVAILABLE", 1: "END"})


def test_several_models_answer_for_themselves(tmp_path):
    for name, version in (("a", 1), ("b", 7)):
        write_toy(tmp_path / name, version)
    before = model_processes()
    bases = {name: str(tmp_path / name) for name in "ab"}
    flags = Flags(bases, port=FREE, rest_api_port=FREE, file_system_poll_wait_seconds=0.02)
    with Server(flags) as server:
        assert len(model_processes() - before) == 2
        address = f"127.0.0.1:{server.grpc_port}"
        with Toy(address, model="a") as a, Toy(address, model="b") as b:
            assert a.predict("half_plus", x=[2.0])["y"] == [3.0]
            assert b.predict("half_plus", x=[2.0])["y"] == [9.0]
            write_corrupt(tmp_path / "a", 2)
            write_toy(tmp_path / "b", 8)
            wait_until(lambda: a.states() == {2: "END", 1: "AVAILABLE"})
            wait_until(lambda: b.states() == {8: "AVAILABLE", 7: "END"})
            assert a.predict("half_plus", x=[2.0])["y"] == [3.0]
            assert b.predict("half_plus", x=[2.0])["y"] == [10.0]
        with Toy(address) as other:
            assert refusal(other.predict, "half_plus", x=[2.0]) == (
                "NOT_FOUND",
                "Servable not found for request: Latest(toy)",
            )
            assert refusal(other.status) == (
                "NOT_FOUND",
                "Could not find any versions of model toy",
            )
    wait_until(lambda: model_processes() <= before)


# ---- requests ----


@pytest.mark.parametrize("batching", [False, True], ids=["alone", "batched"])
def test_a_deadline_breaks_the_run_off(toy, toy_base, batching):
    """A request after as many as may run at once is answered, since they run no longer. It is of
    another signature, so it is not merged with them.
    """
    server, client = toy(toy_base, enable_batching=batching)
    calls = [
        client.begin("slow", timeout=0.3, x=[1.0], seconds=[60.0])
        for _ in range(4 * (os.cpu_count() or 1))
    ]
    for call in calls:
        assert call.exception(LONG).code().name == "DEADLINE_EXCEEDED"
    assert client.predict("half_plus", timeout=10, x=[2.0])["y"] == [4.0]
    assert metric(server, 'rnnsearch_model_restarts{model_name="toy"}') == 0


def test_a_request_takes_no_longer_than_the_server_allows(toy, toy_base):
    _, client = toy(toy_base, request_timeout_in_seconds=0.3, max_request_rows=2)
    refused = refusal(client.predict, "slow", x=[1.0], seconds=[60.0])
    assert refused == ("DEADLINE_EXCEEDED", "Timed out waiting for the run to end")
    assert "expected at most 2 rows" in refusal(client.predict, "half_plus", x=[1.0] * 3)[1]
    assert client.predict("half_plus", x=[1.0, 2.0])["y"].tolist() == [3.5, 4.0]


def test_health_says_whether_it_serves(shared):
    for service in ("", "tensorflow.serving.PredictionService", "tensorflow.serving.ModelService"):
        assert shared.health(service) == "SERVING"
    assert refusal(shared.health, "no.such.Service")[0] == "NOT_FOUND"


def test_what_is_not_served_says_so(shared):
    for method, request in (
        (shared.stub.Classify, classification_pb2.ClassificationRequest()),
        (shared.stub.Regress, regression_pb2.RegressionRequest()),
        (shared.management.HandleReloadConfigRequest, model_management_pb2.ReloadConfigRequest()),
    ):
        assert refusal(method, request, timeout=LONG)[0] == "UNIMPLEMENTED"


# ---- stop ----


def test_a_stop_finishes_what_was_accepted(toy, toy_base, tmp_path):
    before = model_processes()
    server, client = toy(toy_base)
    mine = model_processes() - before
    gates = [Gate(tmp_path, name) for name in ("grpc", "rest")]
    accepted = client.begin("gate", path=[gates[0].path])
    connection = http.client.HTTPConnection("127.0.0.1", server.rest_port, timeout=LONG)
    body = json.dumps({"signature_name": "gate", "instances": [gates[1].path]})
    connection.request("POST", "/v1/models/toy:predict", body)
    for gate in gates:
        gate.wait_until_entered()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        stopping = pool.submit(server.stop)
        wait_until(lambda: refused_now(client))
        assert not accepted.done()
        for gate in gates:
            gate.open()
        assert decoded(accepted.result(LONG))["opened"].tolist() == [gates[0].path.encode()]
        answer = connection.getresponse()
        assert json.loads(answer.read()) == {"predictions": [gates[1].path]}
        connection.close()
        assert stopping.result(LONG) is True
    wait_until(lambda: not model_processes() & mine)


def test_a_stop_waits_for_nobody_who_only_watches_the_health(toy, toy_base):
    server, client = toy(toy_base)
    watching = health_pb2_grpc.HealthStub(client.channel).Watch(health_pb2.HealthCheckRequest())
    statuses = health_pb2.HealthCheckResponse
    assert next(watching).status == statuses.SERVING
    with concurrent.futures.ThreadPoolExecutor() as pool:
        assert pool.submit(server.stop, 10 * LONG).result(LONG) is True
    assert [answer.status for answer in watching] == [statuses.NOT_SERVING]


def test_a_stop_waits_for_predictions_and_not_for_streams_of_reflection(toy, toy_base, tmp_path):
    server, client = toy(toy_base)
    method = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
    ended = threading.Event()
    questions = iter([reflection_pb2.ServerReflectionRequest(list_services="").SerializeToString()])
    stream = client.channel.stream_stream(method)(
        itertools.chain(questions, iter(lambda: ended.wait(10 * LONG), True))
    )
    assert next(stream)
    gate = Gate(tmp_path)
    accepted = client.begin("gate", path=[gate.path])
    gate.wait_until_entered()
    try:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            stopping = pool.submit(server.stop, 10 * LONG)
            wait_until(lambda: refused_now(client))
            gate.open()
            assert decoded(accepted.result(LONG))["opened"].tolist() == [gate.path.encode()]
            assert stopping.result(LONG) is True
    finally:
        ended.set()
        stream.cancel()


def test_a_stop_without_a_grace_breaks_nothing_off_where_nothing_is_under_way(toy, toy_base):
    server, client = toy(toy_base)
    assert client.predict("half_plus", x=[2.0])["y"] == [4.0]
    assert server.stop(0) is True


@pytest.mark.parametrize("batching", [False, True], ids=["alone", "batched"])
def test_a_stop_breaks_off_what_does_not_end_in_its_grace(toy, toy_base, tmp_path, batching):
    before = model_processes()
    server, client = toy(toy_base, enable_batching=batching)
    mine = model_processes() - before
    gate = Gate(tmp_path)
    stuck = client.begin("gate", path=[gate.path])
    gate.wait_until_entered()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        assert pool.submit(server.stop, 0.2).result(LONG / 2) is False
    assert stuck.exception(LONG).code().name in ("CANCELLED", "UNAVAILABLE")
    wait_until(lambda: not model_processes() & mine)  # the run itself has ended


def refused_now(client):
    try:
        client.predict("half_plus", x=[1.0], timeout=0.5)
    except grpc.RpcError as error:
        return error.code() is grpc.StatusCode.UNAVAILABLE
    return False


# ---- start ----


def warm_up_record(signature, **inputs):
    log = prediction_log_pb2.PredictionLog()
    request = log.predict_log.request
    request.model_spec.signature_name = signature
    for name, value in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
    return log


def test_warm_up_runs_before_the_first_request_and_its_failure_is_the_loads(toy, tmp_path):
    gate = Gate(tmp_path)
    gate.open()
    good = warm_up_record("refuse", x=np.float32([1.0]))
    bad = warm_up_record("refuse", x=np.float32([-1.0]))
    models = tmp_path / "models"
    write_toy(models, 1, warm_up=[good, warm_up_record("gate", path=[gate.path])])
    _, client = toy(models)
    assert gate.file.with_name("gate.entered").exists(), "the second request has run, too"
    write_toy(models, 2, warm_up=[good, bad])
    wait_until(lambda: client.states().get(2) == "END")
    failed = client.status()[2].status
    assert "warm-up request 2" in failed.error_message
    assert "x must not be negative" in failed.error_message
    assert client.predict("half_plus", x=[2.0])["y"] == [3.0]


def test_without_warm_up_its_file_is_not_read(toy, tmp_path):
    """Neither its requests are run, then or to ask whether the model answers, nor are they read."""
    other = prediction_log_pb2.PredictionLog()
    other.classify_log.request.model_spec.signature_name = "classify"
    records = [warm_up_record("refuse", x=np.float32([-1.0])), other]
    clients = []
    for number, record in enumerate(records):
        write_toy(tmp_path / f"{number}", 1, warm_up=[record])
        clients.append(toy(tmp_path / f"{number}", enable_model_warmup=False)[1])
    for client in clients:
        assert client.predict("half_plus", x=[2.0])["y"] == [3.0]
    end = time.monotonic() + 2 * IDLE_SECONDS + PROBE_SECONDS
    while time.monotonic() < end:
        assert [client.health() for client in clients] == ["SERVING"] * len(clients)
        time.sleep(0.05)


@pytest.mark.parametrize("flag", ["port", "rest_api_port"])
def test_a_port_that_is_taken_is_said_before_models_are_loaded(shared_server, tmp_path, flag):
    taken = {"port": shared_server.grpc_port, "rest_api_port": shared_server.rest_port}[flag]
    with (
        pytest.raises(UserError, match=f"127.0.0.1:{taken}: expected a free address .*--{flag}"),
        toy_server(tmp_path / "no-model", **{flag: taken}),
    ):
        pass


@pytest.mark.parametrize("flag", ["port", "rest_api_port"])
def test_an_interface_may_be_left_out(toy_base, flag):
    with toy_server(toy_base, **{flag: 0}) as server:
        if flag == "port":
            assert server.grpc_port is None
            assert metric(server, 'rnnsearch_model_restarts{model_name="toy"}') == 0
        else:
            assert server.rest_port is None
            with Toy(f"127.0.0.1:{server.grpc_port}") as client:
                assert client.predict("half_plus", x=[2.0])["y"] == [4.0]


def test_a_start_without_a_model_says_what_is_missing(tmp_path):
    before = model_processes()

    def refused(base):
        with pytest.raises(UserError) as caught, toy_server(base):
            pass
        return str(caught.value)

    missing = tmp_path / "missing"
    expected = "expected a folder with a numbered folder for each version, got"
    advice = "; name the --output of rnnsearch export"
    assert refused(missing) == f"model toy: {missing}: {expected} none{advice}"
    assert refused(tmp_path) == f"model toy: {tmp_path}: {expected} one without any{advice}"
    write_corrupt(tmp_path, 1)
    assert str(tmp_path / "1") in refused(tmp_path)
    wait_until(lambda: model_processes() <= before)


@pytest.mark.slow
def test_twenty_versions_leave_nothing_behind(toy, tmp_path):
    """Each has a process of its own, which ends when the next one answers."""
    others = model_processes()
    write_toy(tmp_path, 1)
    _, client = toy(tmp_path)
    descriptors = []
    for version in range(2, 22):
        write_toy(tmp_path, version)
        wait_until(lambda: client.states().get(version) == "AVAILABLE")
        wait_until(lambda: len(model_processes() - others) == 1)
        descriptors.append(psutil.Process().num_fds())
    assert descriptors[-1] <= descriptors[0]
    assert client.predict("half_plus", x=[2.0])["y"] == [23.0]
