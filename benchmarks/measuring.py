"""What the benchmarks share: common options, the machine in words, the clock, worker processes,
Markdown.

Imports nothing heavy: it also runs in the environments of the peers.

Every program prints Markdown on standard output and progress on standard error.
Times that are compared are medians, measured in turns, so that a busy neighbour slows all sides
alike.
"""

import argparse
import contextlib
import importlib.metadata
import json
import os
import pathlib
import platform
import signal
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
LEAST = 5
"""Measurements that a median is taken of, unless more are asked for; --quick takes one."""

VERSIONS = ("tensorflow", "keras", "numpy")


def parser(description, repeats=True):
    """ArgumentParser with the options that every benchmark has.

    Args:
        description: the benchmark's docstring.
        repeats: whether it takes medians, and so has --repeats.
    """
    result = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cores = len(os.sched_getaffinity(0))
    result.add_argument(
        "--threads",
        type=int,
        default=cores,
        help="of every system (%(default)s: all that may be used)",
    )
    if repeats:
        result.add_argument(
            "--repeats",
            type=int,
            default=LEAST,
            help="measurements that a median is taken of (%(default)s)",
        )
    result.add_argument(
        "--quick",
        action="store_true",
        help="try the program at a tiny size; its numbers mean nothing",
    )
    return result


def parse(parser):
    """The arguments; threads are set, for this process and those it starts, and the machine is
    printed as a heading.
    """
    arguments = parser.parse_args()
    if getattr(arguments, "repeats", LEAST) < LEAST:
        parser.error(
            f"--repeats: expected at least {LEAST}, got {arguments.repeats}; --quick takes fewer"
        )
    if arguments.quick:
        arguments.repeats = 1
    set_threads(arguments.threads)
    # told to end: what was measured is printed
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    name = pathlib.Path(sys.argv[0]).name
    print(f"## {name}\n\n{machine(arguments.threads)}\n", flush=True)
    if arguments.quick:
        print("**--quick: a trial of the program; the numbers below mean nothing.**\n", flush=True)
    return arguments


def set_threads(threads):
    """For TensorFlow, oneDNN, OpenMP and MKL; before any of them is imported."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "TF_NUM_INTRAOP_THREADS"):
        os.environ[name] = str(threads)
    os.environ["TF_NUM_INTEROP_THREADS"] = "1" if threads == 1 else "2"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def machine(threads):
    """Processor, memory, load, versions and date, in a sentence or two."""
    cpu = _first("/proc/cpuinfo", "model name") or platform.processor()
    flags = (_first("/proc/cpuinfo", "flags") or "").split()
    extensions = [name for name in ("avx512f", "avx512_bf16", "amx_bf16") if name in flags]
    memory = int((_first("/proc/meminfo", "MemTotal") or "0").split()[0]) / 2**20
    versions = [
        f"{package} {importlib.metadata.version(package)}"
        for package in VERSIONS
        if _installed(package)
    ]
    cores = (
        f"{len(os.sched_getaffinity(0))} of {os.cpu_count()} cores of {cpu}"
        f" ({', '.join(extensions) or 'no extensions'})"
    )
    command = " ".join([pathlib.Path(sys.argv[0]).name, *sys.argv[1:]])
    return (
        f"{time.strftime('%d %B %Y')}: {cores}, {memory:.0f} GB of memory, load"
        f" {os.getloadavg()[0]:.1f} at the start; {threads} threads; Python"
        f" {platform.python_version()}, {', '.join(versions)}. Commit {_commit()}. `{command}`"
    )


def in_turns(tasks, repeats, warm_up=1):
    """Call every task in turn, again and again.

    Args:
        tasks: {name: function without arguments}.
        repeats: rounds that count.
        warm_up: rounds before them, for tracing and caches.

    Returns:
        {name: list of seconds}.
    """
    seconds = {name: [] for name in tasks}
    for turn in range(warm_up + repeats):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            if turn >= warm_up:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def median(values):
    return statistics.median(values)


def peak_memory():
    """GB of the most that this process has had in memory so far."""
    return int(_first("/proc/self/status", "VmHWM").split()[0]) / 2**20


def table(heads, rows):
    """A Markdown table; the cells of a column of numbers stand right."""
    right = [
        all(isinstance(row[k], (int, float)) or row[k] in (None, "–") for row in rows)
        for k in range(len(heads))
    ]
    lines = [
        heads,
        ["--:" if side else "---" for side in right],
        *([cell(value) for value in row] for row in rows),
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


@contextlib.contextmanager
def printed(heads):
    """A list of rows to fill; its table is printed at the end, and also when a long run is
    interrupted or fails.
    """
    rows = []
    try:
        yield rows
    finally:
        if rows:
            print(table(heads, rows), flush=True)


def cell(value):
    """A number with three digits that count, thousands apart; None as a dash."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if isinstance(value, int) or abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) < 1:
        return f"{value:#.3g}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def say(text):
    """Progress, on standard error."""
    print(text, file=sys.stderr, flush=True)


class Worker:
    """A process that answers requests, one JSON object a line, so that it can take turns with
    others.

    Args:
        command: list of str; a program that calls :func:`answer_requests`.

    Raises:
        RuntimeError: the process ended; the message is the last it said.

    Example::

        with Worker([sys.executable, "ours.py", ...]) as worker:
            worker("train", updates=5)
    """

    def __init__(self, command, environment=None):
        self._log = open(os.memfd_create("log"), "w+b")
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env=environment,
        )

    def __call__(self, what, **values):
        """The worker's answer: what its handler of that name returned."""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps({"what": what, **values}) + "\n")
            self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            self._process.wait()
            raise RuntimeError(
                f"a worker ended with exit code {self._process.returncode}: {self._last_words()}"
            )
        return json.loads(answer)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._log.close()

    def _last_words(self):
        self._log.seek(0)
        return self._log.read().decode("utf-8", "replace")[-2000:].strip()


def answer_requests(handlers):
    """Answer what a :class:`Worker` asks until it closes; whatever else prints goes to standard
    error.

    Args:
        handlers: {name: function of the request's values, whose result JSON can hold}.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        answers.write(json.dumps(handlers[request.pop("what")](**request)) + "\n")
        answers.flush()


def write_batches(path, batches):
    """Keep batches for every system to train on: pairs of int arrays, padded with 0, every row
    ending with 1; words from 3 on.
    """
    import numpy as np

    np.savez(path, *(array for pair in batches for array in pair))


def read_batches(path):
    """List of the pairs (source ids, target ids)."""
    import numpy as np

    with np.load(path) as file:
        arrays = [file[f"arr_{k}"] for k in range(len(file.files))]
    return list(zip(arrays[::2], arrays[1::2]))


def _first(path, name):
    """The value of the first line ``name: value`` of a file, or None."""
    with contextlib.suppress(OSError), open(path) as file:
        for line in file:
            key, _, value = line.partition(":")
            if key.strip() == name:
                return value.strip()


def _installed(package):
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return bool(importlib.metadata.version(package))


def _commit():
    git = ["git", "-C", str(HERE), "describe", "--always", "--dirty"]
    with contextlib.suppress(OSError):
        return subprocess.run(git, capture_output=True, text=True).stdout.strip() or "unknown"
    return "unknown"
