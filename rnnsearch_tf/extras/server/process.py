"""A model's process as the server sees it: started, asked, watched, killed.

TensorFlow cannot stop a running kernel or limit its memory. So a process is killed if a request
outlives its deadline, or if memory runs out; models.py then starts another.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import json
import os
import pathlib
import socket
import subprocess
import time
from typing import Any

import grpc
import psutil

from rnnsearch_tf.extras.server import frames
from rnnsearch_tf.extras.server.errors import (
    ServingError,
    code_of,
    deadline_exceeded,
    unavailable,
)
from rnnsearch_tf.extras.server.flags import Flags
from rnnsearch_tf.extras.server.frames import Kind
from rnnsearch_tf.extras.server.launcher import PROCESS_NUMBER
from rnnsearch_tf.runtime.processes import module_command

SMALL = 4 << 10
"""Largest size of a small request, in bytes. Small requests do not queue behind large ones."""

SMALL_RUNS = min(2 * len(os.sched_getaffinity(0)), 16)
LARGE_RUNS = 2
"""How many small and how many large requests run at once: two small ones for each core that this
process may use, but no more than 16, as a container's quota does not show there. Large ones are
few, to save memory.
"""

MERGED_RUNS = 128
"""Small requests at once with --enable_batching: most of them wait to be merged."""

QUEUE_SECONDS = 4
"""How long a small request waits for its turn before it is UNAVAILABLE."""

OVERDUE_SECONDS = 2
"""Seconds after its deadline at which a running request causes its process to be killed."""

DRAIN_INTERVAL = 0.05
"""Seconds between checks whether the requests to an old version have ended."""

LATE_SECONDS = 0.1
"""Time for a busy event loop to read an answer that has arrived."""

PROBE_SECONDS = 0.75
"""Time limit of a probe."""

LONGEST_PROBE = 60
"""Seconds, after which a process that does not answer a probe is killed."""

IDLE_SECONDS = 1
"""A model is probed if it has computed no answer for this long."""

INFORMATION = Kind.METADATA, Kind.REST_METADATA
"""Requests that the process answers without the model."""

ENVIRONMENT = {
    "MALLOC_ARENA_MAX": "2",  # or each thread would keep memory of its own
    "OPENBLAS_NUM_THREADS": "1",  # NumPy's threads would not survive the fork
}


class Launcher:
    """The process that forks the models' processes; see launcher.py."""

    def __init__(self) -> None:
        self._one = asyncio.Lock()
        self._closed = False
        self._start()

    def _start(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                module_command("rnnsearch_tf.extras.server.launcher", str(theirs.fileno())),
                pass_fds=[theirs.fileno()],
                env=ENVIRONMENT | dict(os.environ),
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the server alone
            )

    async def fork(self, settings: dict[str, Any]) -> tuple[int, socket.socket]:
        """Start a model's process; its number and the socket to it."""
        ours, theirs = socket.socketpair()
        with theirs:
            async with self._one:
                number = await asyncio.to_thread(self._fork, json.dumps(settings).encode(), theirs)
        return number, ours

    def _fork(self, message: bytes, connection: socket.socket) -> int:
        for attempt in range(2):
            if self._closed:
                break
            if attempt:  # it has ended (out of memory, say); the model processes keep running
                self._kill()
                self._start()
            with contextlib.suppress(OSError):
                socket.send_fds(self._control, [message], [connection.fileno()])
                if answer := self._control.recv(PROCESS_NUMBER.size):
                    return PROCESS_NUMBER.unpack(answer)[0]
        raise unavailable("The process that starts models has ended; see the server's log")

    def close(self) -> None:
        """End it. The model processes end when the server closes their sockets."""
        self._closed = True
        self._kill()

    def _kill(self) -> None:
        self._control.close()
        self._process.kill()
        self._process.wait()


class Lane:
    """Limits how many requests run at once; the others wait in order."""

    def __init__(self, size: int):
        self._free = asyncio.Semaphore(size)
        self._moved = time.monotonic()

    async def enter(self, seconds: float) -> None:
        """Wait for a place; asyncio.TimeoutError if there is none for so long."""
        await asyncio.wait_for(self._free.acquire(), seconds)
        self._moved = time.monotonic()

    def leave(self) -> None:
        """Give a place back."""
        self._moved = time.monotonic()
        self._free.release()

    @property
    def stalled(self) -> float:
        """Seconds for which all places have been taken and none became free."""
        return time.monotonic() - self._moved if self._free.locked() else 0.0


@dataclasses.dataclass
class Running:
    """A request that the process works on."""

    kind: Kind
    answer: asyncio.Future[bytes]
    overdue: asyncio.TimerHandle


class ModelProcess:
    """One version of a model in a process of its own; `start`, then `call`, then `close`.

    Attributes:
        messages: FileDescriptorSet of the API's messages, serialized; from `start` on.
        ended: set when the process has ended, however it came.
        reason: why it was killed, or None.
    """

    def __init__(self, name: str, version: int, path: pathlib.Path, flags: Flags):
        small = MERGED_RUNS if flags.enable_batching else SMALL_RUNS
        self.name, self.version, self.path = name, version, path
        self.messages = b""
        self.ended = asyncio.Event()
        self.reason: str | None = None
        self._settings = {
            "name": name,
            "version": version,
            "path": str(path),
            "threads": small + LARGE_RUNS + 2,  # one for information, one for probes
            "runs": (LARGE_RUNS if flags.enable_batching else small) + LARGE_RUNS + 1,
            "intra_op": flags.tensorflow_intra_op_parallelism,
            "warm_up": flags.enable_model_warmup,
            "batching": flags.enable_batching,
            "rows": flags.max_request_rows,
        }
        self._small, self._large, self._information = Lane(small), Lane(LARGE_RUNS), Lane(1)
        self._numbers = itertools.count(1)
        self._running: dict[int, Running] = {}
        self._answered = time.monotonic()
        self._callers = 0
        self._writer: asyncio.StreamWriter | None = None
        self._process: psutil.Process | None = None
        self._probe: asyncio.Future[bytes] | None = None

    async def start(self, launcher: Launcher) -> None:
        """Start the process and load the model.

        Raises:
            ServingError: it does not load, or its process ended.
        """
        try:
            number, connection = await launcher.fork(self._settings)
            self._reader, self._writer = await asyncio.open_connection(
                sock=connection, limit=1 << 20
            )
            with contextlib.suppress(psutil.NoSuchProcess):
                self._process = psutil.Process(number)
            _, code, self.messages = await self._read()
        except (asyncio.CancelledError, ServingError):  # ServingError: there is no launcher
            self.kill("the server stops")
            self._end()
            raise
        except (EOFError, OSError):
            self._end()
            raise unavailable(
                f"its process ended while it was loaded: {self.reason or 'see the server log'}"
            ) from None
        if code is not grpc.StatusCode.OK:
            self.kill("it did not load")
            self._end()
            raise ServingError(code, self.messages.decode())
        self._answered = time.monotonic()
        self._task = asyncio.create_task(self._listen())

    async def call(self, kind: Kind, data: bytes, seconds: float) -> bytes:
        """The answer to a request, which may take so many seconds, waiting included.

        Raises:
            ServingError: what the model says; DEADLINE_EXCEEDED; UNAVAILABLE: too many wait, or the
                process ended.
        """
        end = time.monotonic() + seconds
        is_small = len(data) <= SMALL
        lane = self._small if is_small else self._large
        if kind in INFORMATION:
            lane = self._information
        self._callers += 1
        try:
            await lane.enter(min(seconds, QUEUE_SECONDS) if is_small else seconds)
            answer = self._send(kind, data, end - time.monotonic())
            answer.add_done_callback(lambda _: lane.leave())
            # if the caller leaves, the run continues and keeps its place
            return await asyncio.shield(answer)
        except asyncio.TimeoutError:
            if time.monotonic() >= end:
                raise deadline_exceeded() from None
            raise unavailable(
                f"The model is busy: the request waited {QUEUE_SECONDS} s for its turn; try again"
                " later"
            ) from None
        finally:
            self._callers -= 1

    async def probe(self) -> bool:
        """Whether the model answers: by what it has answered just now, or by a probe."""
        if self.ended.is_set() or self._small.stalled > IDLE_SECONDS:
            return False
        if time.monotonic() - self._answered < IDLE_SECONDS:
            return True
        if self._probe is None or self._probe.done():
            self._probe = self._send(Kind.PROBE, b"", LONGEST_PROBE)
        done, _ = await asyncio.wait({self._probe}, timeout=PROBE_SECONDS)
        return bool(done) and self._probe.exception() is None

    def memory(self) -> int:
        """Bytes that the process has, without files and what it shares."""
        if self._process is None or self.ended.is_set():
            return 0
        try:
            memory = self._process.memory_info()
        except psutil.Error:
            return 0
        return memory.rss - getattr(memory, "shared", 0)

    def kill(self, reason: str) -> None:
        """End the process now; requests that it works on are UNAVAILABLE."""
        if self._process is not None:
            if not self.ended.is_set() and self.reason is None:
                self.reason = reason
            with contextlib.suppress(psutil.Error):
                self._process.kill()

    async def close(self) -> None:
        """End the process when nobody waits for it any more."""
        while self._callers:
            await asyncio.sleep(DRAIN_INTERVAL)
        self.kill("another version answers")

    def _send(self, kind: Kind, data: bytes, seconds: float) -> asyncio.Future[bytes]:
        """Have the process work on a request; the future of its answer."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[bytes] = loop.create_future()
        answer.add_done_callback(asyncio.Future.exception)  # nobody may be left to look at it
        if self.ended.is_set() or self._writer is None:
            answer.set_exception(self._gone())
            return answer
        number = next(self._numbers)
        overdue = loop.call_later(seconds + OVERDUE_SECONDS, self._overdue, number, kind, len(data))
        self._running[number] = Running(kind, answer, overdue)
        self._writer.write(frames.REQUEST.pack(number, kind, seconds, len(data)))
        self._writer.write(data)
        return answer

    def _overdue(self, number: int, kind: Kind, size: int) -> None:
        """Kill the process, unless the answer has come and only the event loop is late."""
        loop = asyncio.get_running_loop()
        loop.call_later(LATE_SECONDS, self._kill_overdue, number, kind, size)

    def _kill_overdue(self, number: int, kind: Kind, size: int) -> None:
        if number in self._running:
            self.kill(
                f"a request did not end {OVERDUE_SECONDS} s after its deadline: {kind.name},"
                f" {size} bytes"
            )
            # treat it as ended even if the socket does not report it
            asyncio.get_running_loop().call_later(OVERDUE_SECONDS, self._end)

    async def _listen(self) -> None:
        """Hand the answers to those who wait until the process has ended."""
        try:
            while True:
                number, code, data = await self._read()
                running = self._running.pop(number, None)
                if running is None:  # it was taken for ended
                    continue
                running.overdue.cancel()
                if code is grpc.StatusCode.OK:
                    if running.kind not in INFORMATION:
                        self._answered = time.monotonic()
                    running.answer.set_result(data)
                else:
                    running.answer.set_exception(
                        ServingError(code, data.decode("utf-8", "replace"))
                    )
        except (EOFError, OSError):
            self._end()

    def _end(self) -> None:
        """Handle the end of the process."""
        self.ended.set()
        if self._writer is not None:
            self._writer.close()
        for running in self._running.values():
            running.overdue.cancel()
            running.answer.set_exception(self._gone())
        self._running.clear()

    async def _read(self) -> tuple[int, grpc.StatusCode, bytes]:
        header = await self._reader.readexactly(frames.ANSWER.size)
        number, code, size = frames.ANSWER.unpack(header)
        return number, code_of(code), await self._reader.readexactly(size)

    def _gone(self) -> ServingError:
        return unavailable(
            f"The model's process ended ({self.reason or 'by itself'}) and is started again;"
            " try again later"
        )
