"""Start the workers of one training, watch them, and start them again when one is lost.

  rnnsearch launch --workers 2 -- train --config F.yaml --output RUN

starts 2 processes on this machine; each takes its share of every batch, of the cores and of the
GPUs. On several machines the same command is given on each, with the addresses of all and the
number of this one:

  rnnsearch launch --hosts a:2222,b:2222 --index 0 -- train --config F.yaml --output RUN

What stands behind -- is a `rnnsearch train`, to which --distribute multi-worker is added. With
--resume among its words it begins where RUN has no checkpoint yet, and goes on where it has one.
RUN and the text must be seen by all workers.

When a worker is killed, the others are stopped, and all start again from the last checkpoint.
SIGTERM and Ctrl-C are passed on: training stops after the batch in progress, is saved, and the exit
code is 75 or 130. Workers whose launcher is killed stop in the same way (on Linux).
"""

import argparse
import ctypes
import glob
import os
import signal
import subprocess
import sys
import time

from rnnsearch_tf.cli import train
from rnnsearch_tf.cli.main import EXIT_DONE, EXIT_INTERRUPTED, EXIT_TERMINATED, Parser
from rnnsearch_tf.cli.shared import whole_number
from rnnsearch_tf.distributed.addresses import VARIABLE, free_addresses, worker_variable
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.runs.folder import Run

PATIENCE = 120
"""Seconds that a worker gets to save and end once it is told to."""


def arguments(parser):
    parser.add_argument(
        "--workers", type=whole_number(1), metavar="N", help="start N workers on this machine"
    )
    parser.add_argument(
        "--hosts",
        metavar="HOST:PORT,…",
        help="the addresses of all workers, the chief's first; with --index",
    )
    parser.add_argument(
        "--index",
        type=whole_number(),
        metavar="K",
        help="with --hosts: which of them to start here, from 0",
    )
    parser.add_argument(
        "--restarts",
        type=whole_number(),
        default=3,
        metavar="R",
        help="times that they are started again at most (default: %(default)s)",
    )
    parser.add_argument(
        "command", nargs="+", metavar="-- train …", help="the training, as for rnnsearch train"
    )


def run(arguments):
    indices, addresses = _workers(arguments)
    output, goes_on, begins, resumes = _training(arguments.command)
    told = []
    before = {
        number: signal.signal(number, lambda number, frame: told.append(number))
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        for left in range(arguments.restarts, -1, -1):
            job = Job(
                indices,
                addresses or free_addresses(len(indices)),
                resumes if goes_on and Run(output).state.exists() else begins,
            )
            code, lost = job.wait(told)
            if told or not lost or not left:
                return code
            print(
                f"launch: a worker was lost; starting again, {left - 1} more times at most",
                file=sys.stderr,
                flush=True,
            )
            # it was left out, and is saved so
            goes_on = True
            resumes = _without(resumes, flags=["--skip-batch"])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Job:
    """The workers of one start that run on this machine.

    Args:
        indices: their numbers.
        addresses: of all workers.
        words: the command, behind ``rnnsearch``.
    """

    def __init__(self, indices, addresses, words):
        # other workers are other launchers' to watch
        self.everywhere = len(indices) < len(addresses)
        command = [sys.executable, "-m", "rnnsearch_tf", *words]
        cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        devices = _devices()
        self.processes = []
        for place, index in enumerate(indices):
            environment = {**os.environ, VARIABLE: worker_variable(index, addresses)}
            own = _part(devices, place, len(indices))
            if own:
                environment["CUDA_VISIBLE_DEVICES"] = ",".join(own)
            # A terminal's Ctrl-C comes through us alone.
            process = subprocess.Popen(
                command, env=environment, start_new_session=True, preexec_fn=_end_with_parent
            )
            own = _part(cores, place, len(indices))
            if own:
                os.sched_setaffinity(process.pid, own)
            self.processes.append(process)

    def wait(self, told):
        """Watch the workers to their end; signals that come into the list `told` are passed on.

        Returns:
            (exit code, whether a worker was lost and a new start may help).
        """
        passed = 0
        deadline = None
        first = None
        # A list: every worker is polled, so that one that fails is seen while those before it run.
        while None in (codes := [process.poll() for process in self.processes]):
            for number in told[passed:]:
                self._send(number)
            ended = next((code for code in codes if code), None)
            if len(told) > passed or first is None and ended:
                first = ended
                passed = len(told)
                deadline = time.monotonic() + PATIENCE
                if not told:
                    self._send(signal.SIGTERM)
            if deadline and time.monotonic() > deadline:
                self._send(signal.SIGKILL)
            time.sleep(0.1)
        if not any(codes):
            return EXIT_DONE, False
        if told:
            return EXIT_INTERRUPTED if told[0] == signal.SIGINT else EXIT_TERMINATED, False
        own = [code for code in codes if code > 0 and code != EXIT_TERMINATED]
        if own:  # an error would come again
            return own[0], False
        return EXIT_TERMINATED, self.everywhere or any(code < 0 for code in codes)

    def _send(self, number):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(number)


def _end_with_parent():
    """Have the system send this process SIGTERM when its parent ends, however that ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def _workers(arguments):
    """(numbers of the workers to start here, addresses of all or None)."""
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
        if not (host and port.isdecimal()):
            raise UsageError(f"--hosts: expected HOST:PORT,HOST:PORT,…, got {address!r} in it")
    if index >= len(addresses):
        raise UsageError(
            f"--index: expected a number from 0 to {len(addresses) - 1}, since --hosts names"
            f" {len(addresses)}, got {index}"
        )
    return [index], addresses


def _training(command):
    """(RUN, whether to go on with it, the words that begin the training, those that go on with it).

    A command that is no training of several workers is refused.
    """
    if command[0] != "train":
        raise UsageError(
            f"launch: expected `-- train …`, got {command[0]!r}; only a training has several"
            " workers"
        )
    parser = Parser(prog="rnnsearch train")
    train.arguments(parser)
    parsed, _ = parser.parse_known_args(command[1:])
    if parsed.distribute not in (None, "multi-worker"):
        raise UsageError(
            f"launch: expected --distribute multi-worker, got {parsed.distribute}; leave it out"
        )
    words = [*command, *([] if parsed.distribute else ["--distribute", "multi-worker"])]
    begins = _without(words, flags=["--resume"])
    # RUN has it all
    known = ["--from", "--mix", "--new-words", "--config"] if parsed.start_from else []
    return parsed.output, parsed.resume, begins, [*_without(begins, options=known), "--resume"]


def _without(words, flags=(), options=()):
    """The words of a command without these flags, and without these options and their values."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for name in flags:
        parser.add_argument(name, action="store_true")
    for name in options:
        parser.add_argument(name)
    return parser.parse_known_args(words)[1]


def _devices():
    """GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return [name for name in named.split(",") if name]
    return [str(number) for number in range(len(glob.glob("/dev/nvidia[0-9]*")))]


def _part(things, place, count):
    """Those of one of `count` workers: as many for each; none where there are fewer than workers,
    who then share all.
    """
    size = len(things) // count
    return things[place * size : (place + 1) * size]
