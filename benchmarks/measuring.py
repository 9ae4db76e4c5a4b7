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
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent


def plain_parser(description):
    return argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def parser(description, sizes=True):
    """ArgumentParser with the options of every benchmark that takes medians."""
    result = plain_parser(description)
    if sizes:
        both = ["SMALL", "PAPER"]
        choices = [*both, "TINY"]
        result.add_argument(
            "--sizes", nargs="+", default=both, choices=choices, help="(%(default)s)"
        )
    cores = len(os.sched_getaffinity(0))
    result.add_argument(
        "--threads",
        type=int,
        default=cores,
        help="of every system (%(default)s: all that may be used)",
    )
    result.add_argument(
        "--repeats",
        type=int,
        default=5,
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
    set_threads(arguments.threads)
    name = pathlib.Path(sys.argv[0]).name
    print(f"## {name}\n\n{machine(arguments.threads)}\n", flush=True)
    if arguments.quick:
        arguments.repeats = 1
        arguments.sizes = ["TINY"]
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
    flags = _first("/proc/cpuinfo", "flags").split()
    extensions = [name for name in ("avx512f", "avx512_bf16", "amx_bf16") if name in flags]
    memory = int(_first("/proc/meminfo", "MemTotal").split()[0]) / 2**20
    packages = ("tensorflow", "keras", "numpy")
    versions = [f"{package} {importlib.metadata.version(package)}" for package in packages]
    cores = (
        f"{len(os.sched_getaffinity(0))} of {os.cpu_count()} cores of"
        f" {_first('/proc/cpuinfo', 'model name')} ({', '.join(extensions) or 'no extensions'})"
    )
    git = ["git", "-C", str(HERE), "describe", "--always", "--dirty"]
    commit = subprocess.run(git, capture_output=True, text=True).stdout.strip() or "unknown"
    command = " ".join([pathlib.Path(sys.argv[0]).name, *sys.argv[1:]])
    return (
        f"{time.strftime('%d %B %Y')}: {cores}, {memory:.0f} GB of memory, load"
        f" {os.getloadavg()[0]:.1f} at the start; {threads} threads; Python"
        f" {platform.python_version()}, {', '.join(versions)}. Commit {commit}. `{command}`"
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


def peak_memory():
    """GB of the most that this process has had in memory so far."""
    return int(_first("/proc/self/status", "VmHWM").split()[0]) / 2**20


@contextlib.contextmanager
def printed(heads):
    """A list of rows to fill; its table is printed at the end, and also when a long run is
    interrupted or fails. The cells of a column of numbers stand right.
    """
    rows = []
    try:
        yield rows
    finally:
        if rows:
            words = [any(isinstance(value, str) for value in column) for column in zip(*rows)]
            sides = ["---" if left else "--:" for left in words]
            lines = [heads, sides, *(map(cell, row) for row in rows)]
            print("\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n", flush=True)


def cell(value):
    """A number with three digits that count, thousands apart."""
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


class Worker(subprocess.Popen):
    """A process that answers requests, one JSON object a line, so that it can take turns with
    others.

    Args:
        program: name of a file beside this one that calls :func:`answer_requests`.
        python: path of the Python that runs it.
        options: arguments of the class that it answers with.

    Example::

        with Worker("ours.py", size="SMALL") as worker:
            worker("updates", updates=5)
    """

    def __init__(self, program, python=sys.executable, **options):
        super().__init__(
            [str(python), str(HERE / program), json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, what, **values):
        """The worker's answer: what its method of that name returned."""
        print(json.dumps({"what": what, **values}), file=self.stdin, flush=True)
        answer = self.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self.args[1]} ended with exit code {self.wait()}")
        return json.loads(answer)


def answer_requests(kind, description):
    """Answer what a :class:`Worker` asks until it closes; whatever else prints goes to standard
    error.

    Args:
        kind: class whose methods answer; "memory" is :func:`peak_memory`.
        description: the program's docstring.
    """
    parser = plain_parser(description)
    parser.add_argument("options", help="the worker's arguments, as a JSON object")
    options = json.loads(parser.parse_args().options)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    system = kind(**options)
    for line in sys.stdin:
        request = json.loads(line)
        what = request.pop("what")
        answer = peak_memory() if what == "memory" else getattr(system, what)(**request)
        print(json.dumps(answer), file=answers, flush=True)


def read_batches(path):
    """The batches that peers.py keeps for every system to train on: list of pairs of int arrays,
    padded with 0, every row ending with 1; words from 3 on.
    """
    import numpy as np

    with np.load(path) as file:
        arrays = [file[name] for name in file.files]
    return list(zip(arrays[::2], arrays[1::2]))


def _first(path, name):
    """The value of the first line ``name: value`` of a file."""
    with open(path) as file:
        for line in file:
            key, _, value = line.partition(":")
            if key.strip() == name:
                return value.strip()
    return "unknown"
