"""Work on the files of a text in several processes: each does one file after the other.

A process is a Python of its own that is told over its standard input what to do next, so that
scripts and notebooks can start it as well as the command line. It ends with the process that
started it, even when that is killed.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import os
import pkgutil
import queue
import subprocess
import sys
import threading

from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.runtime.cores import available_cores
from rnnsearch_tf.runtime.progress import progress

SMALL = 10_000_000
"""Bytes of text files up to which starting processes takes longer than the work."""

_PROGRAM = "from rnnsearch_tf.runtime.processes import answer; answer()"


def processes_for(pieces) -> int:
    """How many processes some Pairs are worth: one for each core, but no more than there are; 1:
    none beside this one.

    Args:
        pieces: list of Pairs.
    """
    paths = [getattr(pairs, side) for pairs in pieces for side in ("source", "target")]
    size = sum(
        os.path.getsize(path)
        for path in paths
        if isinstance(path, (str, os.PathLike)) and os.path.isfile(path)
    )
    return min(available_cores(), len(pieces)) if size > SMALL else 1


class Processes:
    """So many processes, started when they are first needed; used in a ``with`` block, at whose end
    they end.

    Args:
        number: int; 1: this process alone does all of it.
    """

    def __init__(self, number: int):
        self.number, self._started, self._failed = number, [], threading.Event()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for process in self._started:
            if error != (None, None, None):
                process.kill()
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            process.wait()
            process.stdout.close()

    def call(self, function: str, requests: list, doing: str) -> None:
        """Call a function for every request; a single one is left to this process.

        Args:
            function: its name with its module: ``module:function``; it is called as
                ``function(**request)``.
            requests: list of dictionaries that JSON can hold.
            doing: what is shown beside the progress.

        Raises:
            UserError: as the function raises it; or a process was killed.
        """
        number = min(self.number, len(requests))
        if number <= 1:
            for request in progress(requests, doing=doing, unit="files"):
                pkgutil.resolve_name(function)(**request)
            return
        waiting = queue.SimpleQueue()
        for request in requests:
            waiting.put(json.dumps({"function": function, "request": request}) + "\n")
        self._started += [_start() for _ in range(number - len(self._started))]
        with (
            progress(doing=doing, total=len(requests), unit="files") as bar,
            concurrent.futures.ThreadPoolExecutor(number) as threads,
        ):
            every = [
                threads.submit(self._hand_out, process, waiting, bar)
                for process in self._started[:number]
            ]
            try:
                for one in concurrent.futures.as_completed(every):
                    one.result()
            except BaseException:
                self._failed.set()
                for process in self._started:
                    process.kill()
                raise

    def _hand_out(self, process, waiting, bar):
        """Give one process one request after the other."""
        while not self._failed.is_set():
            try:
                request = waiting.get_nowait()
            except queue.Empty:
                return
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(request)
                process.stdin.flush()
            _heed(process.stdout.readline(), process, self._failed)
            bar.update(1)


def _start():
    environment = os.environ | dict.fromkeys(
        ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"), "1"
    )
    environment |= {
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "CUDA_VISIBLE_DEVICES": "",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    pipes = dict(
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    )
    return subprocess.Popen([sys.executable, "-c", _PROGRAM], env=environment, **pipes)


def _heed(answer, process, failed):
    """Raise what a process has met."""
    if not answer:
        if not failed.is_set():
            raise UserError(
                "expected an answer of a process that was started, got its end (exit code"
                f" {process.wait()}); where memory was short, let fewer work at once (--processes,"
                " --workers), or take smaller files"
            )
        return
    values = json.loads(answer)
    if values["error"] is not None:
        raise (UsageError if values["exit_code"] == UsageError.exit_code else UserError)(
            values["error"]
        )


def answer() -> None:
    """What one of the processes runs: a request a line in, an answer a line out; it ends with its
    input.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    requests = queue.SimpleQueue()
    os.dup2(2, 1)  # whatever else prints
    threading.Thread(target=_read, args=(requests,), daemon=True).start()
    while True:
        asked = json.loads(requests.get())
        error = None
        code = None
        try:
            pkgutil.resolve_name(asked["function"])(**asked["request"])
        except UserError as problem:
            error = str(problem)
            code = problem.exit_code
        except Exception as problem:
            error = f"unexpected error: {type(problem).__name__}: {problem}"
            code = UserError.exit_code
        answers.write(json.dumps({"error": error, "exit_code": code}) + "\n")
        answers.flush()


def _read(requests):
    """Hand on what comes in; its end is the end of this process, in the middle of its work too."""
    for line in sys.stdin:
        requests.put(line)
    os._exit(0)
