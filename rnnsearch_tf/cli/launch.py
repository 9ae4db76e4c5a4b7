"""Start the workers of one training, watch them, and restart them when one is lost.

  rnnsearch launch --workers 2 -- train --config F.yaml --output RUN

starts 2 processes on this machine. Each takes its share of every batch, of the cores and of the
GPUs. On several machines, give the same command on each, with the addresses of all workers and the
index of the one to start there:

  rnnsearch launch --hosts a:2222,b:2222 --index 0 -- train --config F.yaml --output RUN

The command after -- is a `rnnsearch train`; --distribute multi-worker is added to it. With
--resume it continues from RUN's checkpoint, or begins if there is none. All workers must have
access to RUN and the text.

--quiet, --verbose and --log-file also apply to the workers.

When a worker is killed, the others are stopped, and all are restarted from the last checkpoint.
SIGTERM and Ctrl-C are passed on: training stops after the current batch and is saved; the exit code
is 75 or 130, or that of a worker that ended with an error. Workers whose launcher is killed stop in
the same way (on Linux).
"""

import argparse
import ctypes
import glob
import os
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from rnnsearch_tf.cli import flags
from rnnsearch_tf.cli.main import (
    EXIT_DONE,
    EXIT_INTERRUPTED,
    EXIT_TERMINATED,
    VERBOSITY,
    parser_of,
)
from rnnsearch_tf.data.continuing import TEXTS
from rnnsearch_tf.distributed.addresses import VARIABLE, free_addresses, worker_variable
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.runs.cleaning import saved_progress
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.runtime.processes import module_command

PATIENCE = 120
"""Seconds that a worker has to save and exit after SIGTERM."""


def arguments(parser: ArgumentParser) -> None:
    flags.add_whole_number(parser, "--workers", "start N workers on this machine")
    parser.add_argument(
        "--hosts",
        metavar="HOST:PORT,…",
        help="addresses of all workers, the chief's first; with --index",
    )
    flags.add_whole_number(
        parser,
        "--index",
        "with --hosts: index of the worker to start here, from 0",
        minimum=0,
        metavar="K",
    )
    flags.add_whole_number(
        parser, "--restarts", "maximum number of restarts", minimum=0, default=3, metavar="R"
    )
    parser.add_argument(
        "command",
        nargs="+",
        metavar="-- train …",
        help="the training command, as for rnnsearch train",
    )


def run(arguments: Namespace) -> int:
    indices, addresses = _workers(arguments)
    output, may_resume, start_words, resume_words = _training(arguments)
    received: list[int] = []
    before = {
        number: signal.signal(number, lambda number, frame: received.append(number))
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        for left in range(arguments.restarts, -1, -1):
            job = Job(
                indices,
                addresses or free_addresses(len(indices)),
                resume_words if may_resume and Run(output).state.exists() else start_words,
            )
            code, lost = job.wait(received)
            if received or not lost or not left:
                break
            print(
                f"launch: a worker was lost; restarting, at most {left - 1} more times",
                file=sys.stderr,
                flush=True,
            )
            may_resume = True
            if not saved_progress(Run(output)).get("refused"):  # it is skipped, and saved so
                resume_words = _without(resume_words, switches=["--skip-batch"])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code


class Job:
    """The worker processes on this machine, from one start of the training.

    Args:
        indices: indices of the workers to start here.
        addresses: addresses of all workers.
        words: the command, after ``rnnsearch``.
    """

    def __init__(self, indices: Sequence[int], addresses: list[str], words: list[str]) -> None:
        # True: other launchers watch other workers
        self.everywhere = len(indices) < len(addresses)
        command = module_command("rnnsearch_tf", *words)
        cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        devices = _devices()
        self.processes = []
        for place, index in enumerate(indices):
            environment = {**os.environ, VARIABLE: worker_variable(index, addresses)}
            share = _part(devices, place, len(indices))
            if share:
                environment["CUDA_VISIBLE_DEVICES"] = ",".join(share)
            # a new session: only the launcher receives the terminal's Ctrl-C
            process = subprocess.Popen(
                command, env=environment, start_new_session=True, preexec_fn=_end_with_parent
            )
            cores_here = _part(cores, place, len(indices))
            if cores_here:
                os.sched_setaffinity(process.pid, cores_here)
            self.processes.append(process)

    def wait(self, received: list[int]) -> tuple[int, bool]:
        """Wait for the workers to end; passes on the signals that a handler adds to `received`.

        Returns:
            (exit code, whether a worker was lost and a restart may help).
        """
        passed = 0
        deadline = None
        first = None
        # A list, not a generator: poll all workers, to see a failure behind a running worker.
        while None in (codes := [process.poll() for process in self.processes]):
            for number in received[passed:]:
                self._send(number)
            ended = next((code for code in codes if code), None)
            if len(received) > passed or first is None and ended:
                first = ended
                passed = len(received)
                deadline = time.monotonic() + PATIENCE
                if not received:
                    self._send(signal.SIGTERM)
            if deadline and time.monotonic() > deadline:
                self._send(signal.SIGKILL)
            time.sleep(0.1)
        failures = [code for code in codes if code]
        if not failures:
            return EXIT_DONE, False
        stopped = (EXIT_TERMINATED, EXIT_INTERRUPTED) if received else (EXIT_TERMINATED,)
        errors = [code for code in failures if code > 0 and code not in stopped]
        if errors:  # a restart would fail again, and a save that failed is not hidden
            return errors[0], False
        if received:
            return EXIT_INTERRUPTED if received[0] == signal.SIGINT else EXIT_TERMINATED, False
        return EXIT_TERMINATED, self.everywhere or any(code < 0 for code in failures)

    def _send(self, number):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(number)


def _end_with_parent():
    """Have the kernel send this process SIGTERM when its parent ends for any reason. Python has no
    function for it. Tried with glibc 2.36, and tested by tests/house/test_library_internals.py.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def _workers(arguments):
    """(indices of the workers to start here, addresses of all workers or None)."""
    if (arguments.workers is None) == (arguments.hosts is None):
        raise UsageError(
            "expected --workers N, or --hosts HOST:PORT,… and --index K, got both or neither; see"
            " rnnsearch launch --help"
        )
    if (arguments.hosts is None) != (arguments.index is None):
        raise UsageError(
            "expected --hosts and --index together, got one of them; see rnnsearch launch --help"
        )
    if arguments.workers is not None:
        return range(arguments.workers), None
    addresses = arguments.hosts.split(",")
    index = arguments.index
    for address in addresses:
        host, colon, port = address.rpartition(":")
        if not (host and port.isdecimal() and 0 < int(port) < 65_536):
            raise UsageError(
                f"--hosts: expected HOST:PORT,HOST:PORT,…, got {address!r} in it; a port is a"
                " number from 1 to 65535"
            )
    if len({*addresses}) < len(addresses):
        raise UsageError(
            f"--hosts: expected different addresses, got {arguments.hosts}; give each worker a port"
            " of its own"
        )
    if index >= len(addresses):
        raise UsageError(
            f"--index: expected a number from 0 to {len(addresses) - 1}, since --hosts names"
            f" {len(addresses)}, got {index}"
        )
    return [index], addresses


def _training(arguments):
    """(RUN, whether --resume is given, words that start the training, words that resume it). The
    launcher's --quiet, --verbose and --log-file apply to workers that have none of their own.

    Raises:
        UsageError: the command is not `train`, or has another --distribute.
    """
    command = arguments.command
    if command[0] != "train":
        raise UsageError(
            f"launch: expected `-- train …`, got {command[0]!r}; only training runs in several"
            " workers"
        )
    parsed, _ = parser_of("train").parse_known_args(command[1:])
    if parsed.distribute not in (None, "multi-worker"):
        raise UsageError(
            f"launch: expected --distribute multi-worker, got {parsed.distribute}; leave it out"
        )
    added = [] if parsed.distribute else ["--distribute", "multi-worker"]
    if not (parsed.quiet or parsed.verbose):
        added += [flag for flag in VERBOSITY if getattr(arguments, flag.strip("-"))]
    if arguments.log_file is not None and parsed.log_file is None:
        added += ["--log-file", arguments.log_file]
    start = _without(command, switches=["--resume"])
    resume = start
    if parsed.start_from:  # RUN has saved the effect of these
        saved = ["--from", "--mix", "--new-words", "--config", "--pairs", "--columns", "--set"]
        resume = _without(start, options=saved)
        for setting in parsed.set:
            if setting.partition("=")[0] not in {f"data.{name}" for name in TEXTS}:
                resume += ["--set", setting]
    return parsed.output, parsed.resume, [*start, *added], [*resume, *added, "--resume"]


def _without(words, switches=(), options=()):
    """The words of a command without these switches, and without these options and their values."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for name in switches:
        parser.add_argument(name, action="store_true")
    for name in options:
        parser.add_argument(name)
    return parser.parse_known_args(words)[1]


def _devices():
    """Names of the GPUs that this process may use, as in CUDA_VISIBLE_DEVICES."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return [name for name in named.split(",") if name]
    return [str(number) for number in range(len(glob.glob("/dev/nvidia[0-9]*")))]


def _part(things, place, count):
    """The share of worker `place` of `count`, all of the same size; empty if there are fewer things
    than workers, which then share all.
    """
    size = len(things) // count
    return things[place * size : (place + 1) * size]
