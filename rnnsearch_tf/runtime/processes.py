"""Process the files of a text in several processes, each of which takes one file after another.

Every process is a separate Python that reads its requests from standard input, so that scripts and
notebooks can start it as well as the command line. It ends with the process that started it, even
if that is killed.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import os
import pathlib
import pkgutil
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import IO, Any

from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.runtime.progress import progress

_WITHOUT_FOLDER = "import sys; sys.path[:] = filter(None, sys.path)"
"""The current folder may have a queue.py, which is not Python's."""

_PROGRAM = f"{_WITHOUT_FOLDER}; from rnnsearch_tf.runtime.processes import answer; answer()"


class Processes:
    """A pool of processes, started on first use, for a ``with`` block; they end with the block.

    Args:
        number: how many; 1: this process does all the work.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self._started: list[_Process] = []
        self._failed = threading.Event()

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self._started:
            if error != (None, None, None):
                process.kill()
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            process.wait()
            process.stdout.close()

    def call(self, function: str, requests: Sequence[Mapping[str, Any]], doing: str) -> None:
        """Call a function for every request; a single request is handled by this process.

        Args:
            function: its module and name, ``module:function``; called as ``function(**request)``.
            requests: dictionaries that can be written as JSON.
            doing: text beside the progress bar.

        Raises:
            UserError: the function raised it; or a process was killed.
        """
        number = min(self.number, len(requests))
        if number <= 1:
            for request in progress(requests, doing=doing, unit="files"):
                pkgutil.resolve_name(function)(**request)
            return
        waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
        for request in requests:
            waiting.put(json.dumps({"function": function, "request": request}) + "\n")
        self._started += [_start() for _ in range(number - len(self._started))]
        with (
            progress(doing=doing, total=len(requests), unit="files") as bar,
            concurrent.futures.ThreadPoolExecutor(number) as threads,
        ):
            futures = [
                threads.submit(self._send_requests, process, waiting, bar)
                for process in self._started[:number]
            ]
            try:
                for future in concurrent.futures.as_completed(futures):
                    future.result()
            except BaseException:
                self._failed.set()
                for process in self._started:
                    process.kill()
                raise

    def _send_requests(self, process: _Process, waiting: queue.SimpleQueue[str], bar: Any) -> None:
        """Send one process requests, one after another, until none is left."""
        while not self._failed.is_set():
            try:
                request = waiting.get_nowait()
            except queue.Empty:
                return
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(request)
                process.stdin.flush()
            _raise_reported(process.stdout.readline(), process, self._failed)
            bar.update(1)


def module_command(module: str, *words: str) -> list[str]:
    """The command ``python -m MODULE WORDS``, but without the modules of the current folder; this
    package is found.
    """
    root = str(pathlib.Path(__file__).parents[2])
    program = (
        f"{_WITHOUT_FOLDER}; sys.path[:0] = {{{root!r}}} - {{*sys.path}}; import runpy;"
        f" runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
    )
    return [sys.executable, "-c", program, *words]


class _Process(subprocess.Popen[str]):
    """A process whose standard input and output are pipes."""

    stdin: IO[str]
    stdout: IO[str]


def _start() -> _Process:
    environment = os.environ | dict.fromkeys(
        ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"), "1"
    )
    environment |= {
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "CUDA_VISIBLE_DEVICES": "",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    return _Process(
        [sys.executable, "-c", _PROGRAM],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    )


def _raise_reported(answer: str, process: _Process, failed: threading.Event) -> None:
    """Raise the error that a process reports in its answer, if any."""
    if not answer:
        if not failed.is_set():
            raise UserError(
                "expected an answer from a helper process, but it ended (exit code"
                f" {process.wait()}); if memory was short, use fewer processes (--processes,"
                " --workers) or smaller files"
            )
        return
    values = json.loads(answer)
    if values["error"] is not None:
        raise (UsageError if values["exit_code"] == UsageError.exit_code else UserError)(
            values["error"]
        )


def answer() -> None:
    """The main loop of a child process: read a request per line, write an answer per line, end with
    the input.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    requests: queue.SimpleQueue[str] = queue.SimpleQueue()
    os.dup2(2, 1)  # other output must not mix with the answers
    threading.Thread(target=_read, args=(requests,), daemon=True).start()
    while True:
        message = json.loads(requests.get())
        error = None
        code = None
        try:
            pkgutil.resolve_name(message["function"])(**message["request"])
        except UserError as problem:
            error = str(problem)
            code = problem.exit_code
        except Exception as problem:
            error = f"unexpected error: {type(problem).__name__}: {problem}"
            code = UserError.exit_code
        answers.write(json.dumps({"error": error, "exit_code": code}) + "\n")
        answers.flush()


def _read(requests: queue.SimpleQueue[str]) -> None:
    """Queue the lines of standard input; when it ends, end this process even during its work."""
    for line in sys.stdin:
        requests.put(line)
    os._exit(0)
