"""`rnnsearch serve` as a process of its own that a test may try to break: what it answers, how much
memory it and the models' processes take, whether it lives.
"""

import contextlib
import pathlib
import re
import subprocess
import sys
import threading
import time

import grpc
import psutil
from grpc_health.v1 import health_pb2, health_pb2_grpc

STARTED_IN = 120  # seconds: TensorFlow is imported by a busy machine
MOST_MEMORY = 4 << 30  # bytes; a server that takes more is ended
LOOK = 0.05  # seconds between looks at its memory


class WatchedServer:
    """A running server.

    Attributes:
        process: its subprocess.Popen.
        grpc, rest: HOST:PORT of its interfaces.
        log: its lines on standard error so far.
    """

    def __init__(self, process):
        self.process = process
        self.log = []
        self.grpc = self.rest = None
        self._most = 0
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._watch, daemon=True).start()

    def wait_until_it_listens(self):
        end = time.monotonic() + STARTED_IN
        while self.rest is None:
            assert self.process.poll() is None and time.monotonic() < end, "".join(self.log)
            time.sleep(LOOK)

    def processes(self):
        """Its process, the launcher and the models' processes: list of psutil.Process."""
        with contextlib.suppress(psutil.Error):
            server = psutil.Process(self.process.pid)
            return [server, *server.children(recursive=True)]
        return []

    def memory(self) -> int:
        """Bytes of resident memory that all of them take now."""
        return sum(status(process, "VmRSS") for process in self.processes())

    def peak(self) -> int:
        """Most bytes of resident memory since `forget_peak`: the sum of each one's most, or, where
        one has ended meanwhile, of what they were seen to take.
        """
        return max(self._most, sum(status(process, "VmHWM") for process in self.processes()))

    def forget_peak(self):
        self._most = 0
        for process in self.processes():
            with contextlib.suppress(OSError):  # it has ended
                pathlib.Path(f"/proc/{process.pid}/clear_refs").write_text("5")

    def healthy_after(self) -> float:
        """Seconds that the health service needs to say SERVING, on a connection of its own."""
        with grpc.insecure_channel(self.grpc, [("grpc.use_local_subchannel_pool", 1)]) as channel:
            started = time.monotonic()
            answer = health_pb2_grpc.HealthStub(channel).Check(
                health_pb2.HealthCheckRequest(), timeout=30
            )
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
            return time.monotonic() - started

    def _read(self):
        for line in self.process.stderr:
            self.log.append(line)
            if match := re.search(r"(gRPC|REST) on (127\.0\.0\.1:\d+)", line):
                setattr(self, match[1].lower(), match[2])

    def _watch(self):
        while self.process.poll() is None:
            memory = self.memory()
            self._most = max(self._most, memory)
            if memory > MOST_MEMORY:
                self.process.kill()
                self.log.append("it took too much memory and was killed\n")
            time.sleep(LOOK)


def status(process, name):
    """Bytes that Linux gives for a process under this name; 0 if it has ended."""
    with contextlib.suppress(OSError):
        text = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        # a process that is about to end has no such line
        match = re.search(rf"{name}:\s+(\d+) kB", text)
        return int(match[1]) * 1024 if match else 0
    return 0


@contextlib.contextmanager
def watched_server(base, *flags):
    """A WatchedServer of the model `toy`; ended afterwards, and all that it has started."""
    command = [
        sys.executable,
        "-m",
        "rnnsearch_tf",
        "serve",
        "--model_name=toy",
        f"--model_base_path={base}",
        "--port=-1",
        "--rest_api_port=-1",
        *flags,
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            server = WatchedServer(process)
            server.wait_until_it_listens()
            yield server
        finally:
            left = server.processes()
            process.kill()
            _, alive = psutil.wait_procs(left, 20)
            for each in alive:
                each.kill()
