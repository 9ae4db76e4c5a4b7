"""A model's process that is killed, does not come to an end or takes too much memory: what clients
see, and that it is back.
"""

import collections
import concurrent.futures
import http.client
import json
import os
import pathlib
import threading
import time

import grpc
import numpy as np
import psutil
import pytest
import tensorflow as tf
import watched_server
from tensorflow_serving.apis import prediction_log_pb2
from toy_calls import Toy, decoded, model_processes, refusal, toy_server, wait_until
from toy_model import Gate, write_toy

from rnnsearch_tf.extras.server.client import Client

LONG = 30
BACK_WITHIN = 5  # seconds
MEMORY = "more than the 700 MB of --memory_limit_in_mb were used"


class Server:
    """A server and its model's process."""

    def __init__(self, base, **flags):
        self._before = model_processes()
        self._manager = toy_server(base, file_system_poll_wait_seconds=0.05, **flags)

    def __enter__(self):
        server = self._manager.__enter__()
        self.address = f"127.0.0.1:{server.grpc_port}"
        self.rest = http.client.HTTPConnection("127.0.0.1", server.rest_port, timeout=LONG)
        self.toy = Toy(self.address)
        return self

    def __exit__(self, *error):
        self.toy.channel.close()
        self.rest.close()
        self._manager.__exit__(*error)

    @property
    def process(self):
        wait_until(lambda: len(model_processes() - self._before) == 1)
        (process,) = model_processes() - self._before
        return process

    def ask_rest(self, signature, *rows):
        """(status, document)."""
        body = json.dumps({"signature_name": signature, "instances": rows})
        self.rest.request("POST", "/v1/models/toy:predict", body)
        answer = self.rest.getresponse()
        return answer.status, json.loads(answer.read())

    def answers(self):
        """Whether a request is answered; if not, it must be UNAVAILABLE."""
        try:
            return self.toy.predict("half_plus", x=[2.0])["y"].tolist() == [4.0]
        except grpc.RpcError as error:
            assert error.code() is grpc.StatusCode.UNAVAILABLE, error
            return False


@pytest.fixture(scope="module")
def server(toy_base):
    with Server(toy_base) as server:
        yield server


def test_killed_under_load_it_is_back_within_seconds_and_every_answer_is_proper(server, caplog):
    stop = threading.Event()
    seen = collections.Counter()
    translated = []

    def ask_grpc():
        with Toy(server.address) as toy:
            while not stop.is_set():
                call = toy.begin("half_plus", x=[2.0, 4.0])
                if error := call.exception(LONG):
                    seen[error.code().name] += 1
                else:
                    assert decoded(call.result())["y"].tolist() == [4.0, 5.0]
                    seen["OK"] += 1

    def ask_rest():
        while not stop.is_set():
            status, document = server.ask_rest("half_plus", 2.0, 4.0)
            seen[status] += 1
            assert document["predictions"] == [4.0, 5.0] if status == 200 else document["error"]

    def translate():
        with Client(server.address, "toy", deadline=LONG) as client:
            while not stop.is_set():
                translated.extend(each.text for each in client.translate([str(len(translated))]))

    with concurrent.futures.ThreadPoolExecutor() as pool:
        workers = [pool.submit(job) for job in (*[ask_grpc] * 4, ask_rest, translate)]
        try:
            wait_until(lambda: seen["OK"] > 20 and seen[200] > 3 and translated)
            killed = server.process
            killed.kill()
            ended = time.monotonic()
            wait_until(lambda: not killed.is_running() and server.answers())
            assert time.monotonic() - ended < BACK_WITHIN
            before = seen.copy()
            wait_until(lambda: seen["OK"] > before["OK"] + 20 and seen[200] > before[200] + 3)
        finally:
            stop.set()
        for worker in workers:
            worker.result()
    assert set(seen) <= {"OK", "UNAVAILABLE", 200, 503} and seen["UNAVAILABLE"] > 0
    assert translated == [f"v2:{number}" for number in range(len(translated))]
    assert "model toy version 2: its process ended (by itself) and is started again" in caplog.text
    wait_until(lambda: server.toy.health() == "SERVING")


def warm_up_record(signature, **inputs):
    log = prediction_log_pb2.PredictionLog()
    log.predict_log.request.model_spec.signature_name = signature
    for name, value in inputs.items():
        log.predict_log.request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
    return log


def test_health_says_that_a_model_does_not_answer_or_is_being_started_again(tmp_path):
    """Loading waits at a gate here: the warm-up's."""
    gate = Gate(tmp_path)
    gate.open()
    write_toy(tmp_path / "models", 2, warm_up=[warm_up_record("gate", path=[gate.path])])
    with Server(tmp_path / "models") as server:
        wait_until(lambda: server.toy.health() == "SERVING")
        gate.file.unlink()
        # nobody asks it anything but the server, by the warm-up's first request, and that waits
        wait_until(lambda: server.toy.health() == "NOT_SERVING")
        gate.open()
        wait_until(lambda: server.toy.health() == "SERVING")
        gate.file.unlink()
        server.process.kill()
        for service in ("", "tensorflow.serving.PredictionService"):
            wait_until(lambda: server.toy.health(service) == "NOT_SERVING")
        wait_until(lambda: server.toy.states() == {2: "LOADING"})
        assert refusal(server.toy.predict, "half_plus", x=[2.0]) == (
            "UNAVAILABLE",
            "The model's process is started again; try again later",
        )
        assert server.ask_rest("half_plus", 2.0)[0] == 503
        gate.open()
        wait_until(lambda: server.toy.health() == "SERVING")
        assert server.answers()
        # the probe that health goes by may be answered before the state is written
        wait_until(lambda: server.toy.states() == {2: "AVAILABLE"})


def test_a_kernel_that_outlives_its_deadline_ends_its_process(server, tmp_path, caplog):
    """It waits for a writer in the system's open(), which TensorFlow cannot break off."""
    fifo = str(tmp_path / "fifo")
    os.mkfifo(fifo)
    killed = server.process
    beside = server.toy.begin("gate", path=[Gate(tmp_path).path])
    started = time.monotonic()
    assert refusal(server.toy.predict, "block", timeout=0.5, path=[fifo]) == (
        "DEADLINE_EXCEEDED",
        "Deadline Exceeded",
    )
    assert time.monotonic() - started < 2 and pathlib.Path(f"{fifo}.entered").exists()
    assert server.answers(), "others are answered meanwhile"
    # a request of another, which is under way then
    reason = "a request did not end 2 s after its deadline"
    assert beside.exception(LONG).code() is grpc.StatusCode.UNAVAILABLE
    assert reason in beside.exception().details()
    wait_until(lambda: not killed.is_running() and server.answers())
    assert f"its process ended ({reason}: PREDICT, " in caplog.text


@pytest.mark.slow
def test_a_launcher_that_is_killed_is_started_again(toy_base):
    """The model keeps answering without it, and is restarted when it is killed too."""
    with watched_server.watched_server(toy_base) as server:
        (launcher,) = psutil.Process(server.process.pid).children()
        with Toy(server.grpc) as toy:
            (model,) = launcher.children()
            launcher.kill()
            wait_until(lambda: _is_gone(launcher))
            assert toy.predict("half_plus", x=[2.0])["y"] == [4.0]
            model.kill()
            wait_until(lambda: _is_gone(model))
            wait_until(lambda: _answers(toy))


def _is_gone(process):
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _answers(toy):
    try:
        return toy.predict("half_plus", x=[2.0])["y"] == [4.0]
    except grpc.RpcError as error:
        assert error.code() is grpc.StatusCode.UNAVAILABLE
        return False


def test_a_process_beyond_the_memory_limit_is_killed_and_comes_back(tmp_path, caplog):
    write_toy(tmp_path, 2)
    with Server(tmp_path, memory_limit_in_mb=700) as server:
        modest = server.toy.predict("large", megabytes=[100], seconds=[0.2])["y"].tolist()
        assert modest == [1.0]
        check_memory_limit(server)
        assert f"its process ended ({MEMORY}) and is started again" in caplog.text
        # one that takes too much while it is loaded is the one that goes
        large = warm_up_record("large", megabytes=[1000], seconds=np.float32([60]))
        write_toy(tmp_path, 3, warm_up=[large])
        wait_until(lambda: server.toy.states() == {3: "END", 2: "AVAILABLE"})
        failed = server.toy.status()[3].status
        assert failed.error_code == grpc.StatusCode.UNAVAILABLE.value[0]
        assert MEMORY in failed.error_message
        assert server.answers()
        check_memory_limit(server)


def check_memory_limit(server):
    killed = server.process
    code, message = refusal(server.toy.predict, "large", megabytes=[1000], seconds=[20.0])
    assert code == "UNAVAILABLE" and MEMORY in message
    wait_until(lambda: not killed.is_running() and server.answers())
