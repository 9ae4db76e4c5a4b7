"""`rnnsearch serve` as a process: killed and started again, told to end, used wrongly."""

import contextlib
import re
import signal
import subprocess
import sys
import threading
import time

from toy_calls import Toy, decoded
from toy_model import Gate

from rnnsearch_tf.serving.client import Client

LONG = 120  # seconds: TensorFlow is imported by a busy machine
READY = 60


@contextlib.contextmanager
def serving(base, port=-1):
    """(process, port) of a server that answers."""
    command = [sys.executable, "-m", "rnnsearch_tf", "serve", "--model_name=toy", f"--model_base_path={base}", f"--port={port}",
               "--rest_api_port", "-1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
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


def test_killed_it_is_ready_again_in_seconds_and_told_to_end_it_finishes_what_it_has_accepted(toy_base, tmp_path):
    with serving(toy_base) as (first, port), Client(f"127.0.0.1:{port}", "toy", deadline=LONG) as client:
        assert client.translate(["a"]) == ["v2:a"]
        first.send_signal(signal.SIGKILL)
        first.wait(LONG)
        answers = []
        asking = threading.Thread(target=lambda: answers.extend(client.translate(["b"])))
        asking.start()
        start = time.monotonic()
        with serving(toy_base, port) as (second, _):
            asking.join(LONG)
            assert answers == ["v2:b"], "the client's retries hide it"
            assert time.monotonic() - start < READY
            check_clean_end(second, port, Gate(tmp_path))


def check_clean_end(process, port, gate):
    with Toy(f"127.0.0.1:{port}") as toy:
        accepted = toy.begin("gate", timeout=LONG, path=[gate.path])
        gate.wait_until_entered()
        process.send_signal(signal.SIGTERM)
        assert "stopping" in process.stderr.readline()
        gate.open()
        assert decoded(accepted.result(LONG))["opened"].tolist() == [gate.path.encode()]
    assert process.wait(LONG) == 0
    assert process.stderr.read() == "rnnsearch: model toy version 2 is unloaded\n"


def test_wrong_usage_is_one_line_and_exit_2():
    result = subprocess.run([sys.executable, "-m", "rnnsearch_tf", "serve", "--modle_name=x"], capture_output=True, text=True, timeout=LONG)
    assert result.returncode == 2
    assert result.stderr == "rnnsearch: error: unknown option --modle_name; did you mean --model_name?; see rnnsearch serve --help\n"
