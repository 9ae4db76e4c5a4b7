"""`rnnsearch serve` as a process: killed and started again, told to end, used wrongly."""

import pytest
import contextlib
import http.client
import json
import re
import signal
import subprocess
import sys
import threading
import time

import psutil
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2
from toy_calls import Toy, decoded, wait_until
from toy_model import Gate, write_toy

from rnnsearch_tf.extras.server.client import Client

LONG = 120  # seconds: TensorFlow is imported by a busy machine
READY = 60
FEW_FILES = 256
SPARE = 20  # seconds that a busy machine may take for what should take one or two


def command(base, port=-1, *flags):
    return [
        sys.executable,
        "-m",
        "rnnsearch_tf",
        "serve",
        "--model_name=toy",
        f"--model_base_path={base}",
        f"--port={port}",
        "--rest_api_port",
        "-1",
        *flags,
    ]


@contextlib.contextmanager
def serving(base, port=-1, *flags):
    """(process, port) of a server that answers, started with a low limit of file descriptors."""
    limited = ["sh", "-c", f'ulimit -S -n {FEW_FILES}; exec "$@"', "sh"]
    with subprocess.Popen(
        [*limited, *command(base, port, *flags)], stderr=subprocess.PIPE, text=True
    ) as process:
        watchdog = threading.Timer(LONG, process.kill)  # nobody waits for ever
        watchdog.start()
        match = None
        try:
            for line in process.stderr:
                match = re.search(r"gRPC on 127\.0\.0\.1:(\d+)", line) or match
                if "REST on" in line:  # the last thing it says before it waits
                    break
            yield process, int(match[1])
        finally:
            process.kill()
            watchdog.cancel()


def started_by(process):
    """The launcher and the models' processes of a server."""
    return psutil.Process(process.pid).children(recursive=True)


def check_that_they_end(processes):
    _, alive = psutil.wait_procs(processes, SPARE)
    assert not alive


def test_killed_it_is_ready_again_in_seconds_and_told_to_end_it_finishes_what_it_has_accepted(
    toy_base, tmp_path
):
    with (
        serving(toy_base) as (first, port),
        Client(f"127.0.0.1:{port}", "toy", deadline=LONG) as client,
    ):
        assert [each.text for each in client.translate(["a"])] == ["v2:a"]
        soft, hard = psutil.Process(first.pid).rlimit(psutil.RLIMIT_NOFILE)
        assert soft == hard > FEW_FILES, "each connection takes a descriptor"
        started = started_by(first)
        assert len(started) == 2
        first.send_signal(signal.SIGKILL)
        first.wait(LONG)
        answers = []
        asking = threading.Thread(
            target=lambda: answers.extend(each.text for each in client.translate(["b"]))
        )
        asking.start()
        start = time.monotonic()
        check_that_they_end(started)
        with serving(toy_base, port) as (second, _):
            asking.join(LONG)
            assert answers == ["v2:b"], "the client's retries hide it"
            assert time.monotonic() - start < READY
            started = started_by(second)
            check_clean_end(second, port, Gate(tmp_path))
            check_that_they_end(started)


def check_clean_end(process, port, gate):
    with Toy(f"127.0.0.1:{port}") as toy:
        accepted = toy.begin("gate", timeout=LONG, path=[gate.path])
        gate.wait_until_entered()
        # systemd sends it to every process of the unit; the others leave the end to the server
        for each in (*started_by(process), process):
            each.send_signal(signal.SIGTERM)
        assert "stopping: finishing requests in flight first" in process.stderr.readline()
        gate.open()
        assert decoded(accepted.result(LONG))["opened"].tolist() == [gate.path.encode()]
    assert process.wait(LONG) == 0
    assert process.stderr.read() == ""


def test_told_to_end_it_waits_no_longer_than_its_grace(toy_base, tmp_path):
    """The runs here never end by themselves."""
    with (
        serving(toy_base, -1, "--shutdown_grace_in_seconds=1", "--enable_batching") as (
            process,
            port,
        ),
        Toy(f"127.0.0.1:{port}") as toy,
    ):
        gate = Gate(tmp_path)
        started = started_by(process)
        stuck = [toy.begin("gate", timeout=LONG, path=[gate.path]) for _ in range(3)]
        gate.wait_until_entered()
        start = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(LONG) == 1
        assert time.monotonic() - start < 1 + SPARE
        assert all(
            call.exception(LONG).code().name in ("CANCELLED", "UNAVAILABLE") for call in stuck
        )
        assert "cancelled requests that did not end in 1 s" in process.stderr.read()
        check_that_they_end(started)


@pytest.mark.slow
def test_told_to_end_while_a_model_loads_it_ends(tmp_path):
    """Loading takes for ever here: its warm-up waits at a gate."""
    gate = Gate(tmp_path)
    record = prediction_log_pb2.PredictionLog()
    record.predict_log.request.model_spec.signature_name = "gate"
    record.predict_log.request.inputs["path"].CopyFrom(tf.make_tensor_proto([gate.path]))
    write_toy(tmp_path / "models", 1, warm_up=[record])
    with subprocess.Popen(
        command(tmp_path / "models"), stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            gate.wait_until_entered(LONG)
            started = started_by(process)
            assert len(started) == 2
            process.send_signal(signal.SIGTERM)
            assert process.wait(SPARE) == 0
            check_that_they_end(started)
            assert (
                process.stderr.read().splitlines()[-1]
                == "rnnsearch: stopping: nothing was served yet"
            )
        finally:
            process.kill()
            gate.open()


SERVER = """
import sys
from rnnsearch_tf.extras.server.flags import FREE, Flags
from rnnsearch_tf.extras.server.server import Server

with Server(Flags({"toy": sys.argv[1]}, port=FREE, rest_api_port=FREE)) as server:
    print(server.grpc_port, server.rest_port, flush=True)
    sys.stdin.readline()
    print(*sorted(sys.modules))
"""


def test_the_process_that_listens_has_no_tensorflow(toy_base):
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, str(toy_base)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        watchdog = threading.Timer(LONG, process.kill)
        watchdog.start()
        try:
            grpc_port, rest_port = map(int, process.stdout.readline().split())
            with Toy(f"127.0.0.1:{grpc_port}") as toy:
                assert toy.predict("half_plus", x=[2.0])["y"] == [4.0]
                assert toy.states() == {2: "AVAILABLE"} and toy.health() == "SERVING"
            for method, path in (
                ("POST", ":predict"),
                ("GET", ""),
                ("GET", "/metadata"),
            ):
                connection = http.client.HTTPConnection("127.0.0.1", rest_port, timeout=LONG)
                body = json.dumps({"instances": ["a"]}) if method == "POST" else None
                connection.request(method, f"/v1/models/toy{path}", body)
                assert connection.getresponse().status == 200
                connection.close()
            wait_until(lambda: len(started_by(process)) == 2)
            said, _ = process.communicate("\n", LONG)
        finally:
            watchdog.cancel()
            process.kill()
    packages = {name.partition(".")[0] for name in said.split()}
    assert "rnnsearch_tf" in packages
    assert not packages & {"tensorflow", "tensorflow_text", "tensorflow_serving", "keras"}


def test_wrong_usage_is_one_line_and_exit_2():
    result = subprocess.run(
        [sys.executable, "-m", "rnnsearch_tf", "serve", "--modle_name=x"],
        capture_output=True,
        text=True,
        timeout=LONG,
    )
    assert result.returncode == 2
    assert (
        result.stderr
        == "rnnsearch: error: unknown option --modle_name; did you mean --model_name?; see"
        " rnnsearch serve --help\n"
    )
