"""Memory and speed over a long time: a server under mixed requests or with new versions of its
model, or a training.

    python benchmarks/soak.py serving --minutes 30 [--model tatoeba-en-fr | --served DIR] [--rate 3]
    python benchmarks/soak.py versions --count 20 [--model tatoeba-en-fr | --served DIR]
    python benchmarks/soak.py training --minutes 30 [--config phrasebook] [--set section.key=value
        …] [--trim]

serving: `rnnsearch serve` in a process of its own gets --rate requests a second: one sentence, a
long one, 16 of them, n-best lists, things that it must refuse, and connections that break in the
middle of a request or before its answer.
versions: `rnnsearch serve` gets one version of its model after the other, and translates a sentence
with each. Prints memory, descriptors and threads after each.
training: `rnnsearch train`, with evaluations and checkpoints, in a process of its own.

With --trim the training gives back, every 5 seconds, what the C library holds of freed memory; what
is left is really kept.

Every 10 seconds the memory of the process, and of all that came from it, is taken from /proc: what
is resident, and what no other process has. Prints a Markdown table, a row for every five minutes
(twelve rows at most), and how the latter grows by the hour after a warm-up of a sixth of the time:
least squares over all looks, and over the least of every two minutes. The second is what the
processes keep: an evaluation or a checkpoint needs memory for some seconds, and gives it back. Ends
with 1 if an answer was neither right nor the refusal it should be.
"""

import argparse
import contextlib
import itertools
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import measuring
import psutil

HERE = pathlib.Path(__file__).parent
SHORT = [
    "She has never been to Paris.",
    "I like it.",
    "Where is the station?",
    "My sister sells an old book.",
    "It rains.",
]
LONG = (
    "The man who lives next door told me that he had bought a new car, and that he would drive to"
    " the sea with his wife. "
)
TRIMMED = """
import ctypes, runpy, threading, time
def trim():
    while True:
        time.sleep(5)
        ctypes.CDLL("libc.so.6").malloc_trim(0)
threading.Thread(target=trim, daemon=True).start()
runpy.run_module("rnnsearch_tf", run_name="__main__", alter_sys=True)
"""
"""`python -m rnnsearch_tf` that gives back what is free."""

SECONDS = 10
"""Between two looks at the memory."""

WINDOW = 120
"""Seconds; the least memory within it is taken, which no evaluation raises."""


class Memory(threading.Thread):
    """Looks at a process, and all that came from it, until it is stopped.

    Attributes:
        seen: list of (seconds since the start, resident bytes, bytes that no other process has).
        held: list of (file descriptors, threads), one for each look.
    """

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.seen, self.ended, self.began = pid, [], threading.Event(), time.monotonic()
        self.held = []
        self.start()

    def run(self):
        while not self.ended.wait(SECONDS):
            try:
                resident, own, *held = look(self.pid)
            except (OSError, psutil.Error):
                continue  # one has ended just now
            self.seen.append((time.monotonic() - self.began, resident, own))
            self.held.append(held)


def look(pid):
    """[resident bytes, bytes that no other process has, file descriptors, threads] of a process and
    all that came from it.
    """
    root = psutil.Process(pid)
    each = []
    for process in (root, *root.children(recursive=True)):
        memory = process.memory_full_info()  # pss: of a page that several have, each has its share
        each.append((memory.pss, memory.uss, process.num_fds(), process.num_threads()))
    return [sum(values) for values in zip(*each)]


class Asker:
    """Clients of a server, which send one kind of request after the other.

    Attributes:
        latencies: list of (seconds since the start, seconds) of the answers.
        counts: {kind: requests}.
        improper: what came that should not have.
    """

    KINDS = (
        "short",
        "short",
        "long",
        "short",
        "nbest",
        "batch",
        "short",
        "unknown model",
        "short",
        "bad shape",
        "short",
        "half a request",
        "left",
    )

    def __init__(self, server, model, rate):
        from rnnsearch_tf.extras.server.client import Client

        self.server = server
        self.model = model
        self.rate = rate
        self.client = Client(server.grpc, model, deadline=60)
        self.nbest = Client(server.grpc, model, deadline=60, signature="translate_nbest")
        self.unknown = Client(server.grpc, "no-such-model", deadline=60)
        self.latencies, self.counts, self.improper = [], dict.fromkeys(self.KINDS, 0), []
        self.began = time.monotonic()

    def run(self, seconds):
        """Ask for so long, at the rate or as fast as the answers come."""
        kinds = itertools.cycle(self.KINDS)
        texts = itertools.cycle(SHORT)
        for number in range(int(seconds * self.rate)):
            wait = self.began + number / self.rate - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            if time.monotonic() - self.began > seconds:
                return
            kind = next(kinds)
            started = time.monotonic()
            try:
                wrong = self.ask(kind, next(texts))
            except Exception as error:
                wrong = f"{type(error).__name__}: {error}"
            self.counts[kind] += 1
            if wrong:
                self.improper.append(f"{kind}: {wrong}")
            if kind in ("short", "long", "nbest", "batch"):
                self.latencies.append((started - self.began, time.monotonic() - started))

    def ask(self, kind, text):
        """Send a request; what is wrong with what came back, or None."""
        if kind in ("short", "long", "batch"):
            texts = {"short": [text], "long": [3 * LONG], "batch": SHORT * 3 + [LONG]}[kind]
            return (
                None
                if all(each.text for each in self.client.translate(texts))
                else "an empty translation"
            )
        if kind in ("nbest", "unknown model"):
            client, refusal = (
                (self.nbest, "expected 1 strings as output `translation`, got")
                if kind == "nbest"
                else (self.unknown, "NOT_FOUND")
            )
            from rnnsearch_tf.errors import UserError

            try:
                client.translate([text])
            except UserError as error:
                return None if refusal in str(error) else str(error)
            return None if kind == "nbest" else "an answer"
        return self.over_http(kind, text)

    def over_http(self, kind, text):
        """A request over REST: one of a wrong shape, half of one, or one whose answer nobody waits
        for.
        """
        host, port = self.server.rest.split(":")
        body = json.dumps({"instances": [[[text]]] if kind == "bad shape" else [text]}).encode()
        head = (
            f"POST /v1/models/{self.model}:predict HTTP/1.1\r\nHost: {host}\r\nContent-Length:"
            f" {len(body)}\r\nConnection: close\r\n\r\n"
        )
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            connection.sendall(
                head.encode() + (body[: len(body) // 2] if kind == "half a request" else body)
            )
            if kind == "bad shape":
                answer = connection.recv(4096)
                return (
                    None
                    if answer.startswith(b"HTTP/1.1 400")
                    else answer[:200].decode("utf-8", "replace")
                )
        return None


def slices(seconds):
    """[(begin, end)] of the rows of the table."""
    count = min(12, max(1, int(seconds // 300)))
    return [(k * seconds / count, (k + 1) * seconds / count) for k in range(count)]


def memory_of(seen, begin, end):
    """MB, resident and of its own, at the end of a slice; None without any look."""
    if not seen:
        return [None, None]
    rows = [row for row in seen if begin <= row[0] < end] or seen[-1:]
    return [round(value / 1e6) for value in rows[-1][1:]]


def growth(seen, seconds):
    """A sentence on how the latter grows."""
    import numpy as np

    after = np.array([(at, own) for at, _, own in seen if at > seconds / 6])
    if len(after) < 3:
        return "Too short to say how memory grows."
    windows = [
        after[after[:, 0] // WINDOW == number] for number in np.unique(after[:, 0] // WINDOW)
    ]
    lows = np.array([window[window[:, 1].argmin()] for window in windows])

    def slope(looks):
        return np.polyfit(looks[:, 0] / 3600, looks[:, 1] / 1e6, 1)[0]

    least = after[:, 1].min() / 1e6
    most = after[:, 1].max() / 1e6
    kept = f", {slope(lows):+.1f} over the least of every {WINDOW} seconds" if len(lows) > 2 else ""
    return (
        f"Its own memory after the warm-up of {seconds / 360:.1f} minutes: {slope(after):+.1f} MB"
        f" an hour by least squares over {len(after)} looks{kept}; least {least:,.0f}, most"
        f" {most:,.0f} MB."
    )


@contextlib.contextmanager
def served(arguments):
    """(base path of an exported model, the WatchedServer that serves it as `toy`)."""
    sys.path.insert(0, str(HERE.parent / "tests" / "serving"))
    import watched_server

    watched_server.STARTED_IN = 600  # seconds; other programs may be at work
    with tempfile.TemporaryDirectory() as folder:
        base = pathlib.Path(folder, "model")
        if arguments.served:
            shutil.copytree(arguments.served, base)
        else:
            measuring.say("exporting")
            command = [sys.executable, "-m", "rnnsearch_tf", "export"]
            command += ["--model", arguments.model, "--output", str(base)]
            subprocess.run(command, check=True, stdout=sys.stderr)
        with watched_server.watched_server(base) as server:
            yield base, server


def serving(arguments):
    import numpy as np

    seconds = 60 * arguments.minutes
    with served(arguments) as (_, server):
        memory = Memory(server.process.pid)
        asker = Asker(server, "toy", arguments.rate)
        asker.run(seconds)
        memory.ended.set()
    with measuring.printed(
        ["minutes", "answers", "p50, ms", "p95, ms", "p99, ms", "resident, MB", "own, MB"]
    ) as rows:
        for begin, end in slices(seconds):
            taken = [1000 * latency for at, latency in asker.latencies if begin <= at < end]
            percentiles = (
                [float(value) for value in np.percentile(taken, [50, 95, 99])]
                if taken
                else [None] * 3
            )
            rows.append(
                [
                    f"{begin / 60:.0f}–{end / 60:.0f}",
                    len(taken),
                    *percentiles,
                    *memory_of(memory.seen, begin, end),
                ]
            )
    print(growth(memory.seen, seconds))
    if third := len(memory.held) // 3:
        second, last = (
            " and ".join(str(max(each)) for each in zip(*part))
            for part in (memory.held[third : 2 * third], memory.held[2 * third :])
        )
        print(
            "Most file descriptors and threads of its processes in the second third of the time:"
            f" {second}; in the last: {last}."
        )
    print(
        "Requests: "
        + ", ".join(f"{count:,} {kind}" for kind, count in asker.counts.items())
        + f"; {len(asker.improper)} improper answers."
    )
    for wrong in asker.improper[:10]:
        measuring.say(wrong[:500])
    return 1 if asker.improper else 0


def versions(arguments):
    from rnnsearch_tf.extras.server.client import Client

    with (
        served(arguments) as (base, server),
        measuring.printed(
            ["version", "s until it answers", "resident, MB", "own, MB", "descriptors", "threads"]
        ) as rows,
    ):
        first = max(int(path.name) for path in base.iterdir() if path.name.isdecimal())
        client = Client(server.grpc, "toy", deadline=60)
        for version in range(first, first + arguments.count):
            started = time.monotonic()
            if version > first:
                shutil.copytree(base / str(first), base / "copy")
                (base / "copy").rename(base / str(version))
            while (states := states_of(server)) != {str(version): "AVAILABLE"}:
                if time.monotonic() - started > 300:
                    measuring.say(f"expected version {version} alone, got {states}")
                    return 1
                time.sleep(0.2)
            (translation,) = client.translate(SHORT[:1])
            taken = time.monotonic() - started
            time.sleep(3)  # the process of the version before ends
            resident, own, *held = look(server.process.pid)
            rows.append([version, taken, round(resident / 1e6), round(own / 1e6), *held])
            if not translation.text:
                return 1
    return 0


def states_of(server):
    """{version: state} of the versions of the model that have not ended."""
    with urllib.request.urlopen(f"http://{server.rest}/v1/models/toy", timeout=60) as answer:
        found = json.load(answer)["model_version_status"]
    return {one["version"]: one["state"] for one in found if one["state"] != "END"}


def training(arguments):
    seconds = 60 * arguments.minutes
    with tempfile.TemporaryDirectory() as folder:
        options = [
            "training.maximum_updates=1000000",
            "training.checkpoint_every_minutes=1",
            f"training.evaluate_every={arguments.evaluate_every}",
        ]
        program = ["-c", TRIMMED] if arguments.trim else ["-m", "rnnsearch_tf"]
        options += arguments.set
        command = [
            sys.executable,
            *program,
            "train",
            "--config",
            arguments.config,
            "--output",
            f"{folder}/run",
            "--quiet",
        ]
        with subprocess.Popen(
            [*command, *itertools.chain.from_iterable(("--set", option) for option in options)],
            stdout=sys.stderr,
        ) as process:
            memory = Memory(process.pid)
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.terminate()
        code = process.returncode
        metrics = pathlib.Path(folder, "run", "metrics.jsonl")
        logged = (
            [json.loads(line) for line in metrics.read_text().splitlines()]
            if metrics.exists()
            else []
        )
    with measuring.printed(["minutes", "resident, MB", "own, MB"]) as rows:
        for begin, end in slices(seconds):
            rows.append([f"{begin / 60:.0f}–{end / 60:.0f}", *memory_of(memory.seen, begin, end)])
    print(growth(memory.seen, seconds))
    print(
        f"{max((row.get('batches', 0) for row in logged), default=0):,} updates; exit code {code}"
        " (75: told to end, with a checkpoint)."
    )
    return 0 if code == 75 else 1


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    what = parser.add_subparsers(dest="what", required=True)
    what.add_parser("versions").add_argument(
        "--count", type=int, default=20, help="default: %(default)s"
    )
    for name in ("serving", "training"):
        one = what.add_parser(name)
        one.add_argument("--minutes", type=float, default=30, help="default: %(default)s")
    one.add_argument("--config", default="phrasebook", help="default: %(default)s")
    one.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="section.key=value",
        help="change one setting of the configuration",
    )
    one.add_argument("--trim", action="store_true", help="give back freed memory every 5 seconds")
    one.add_argument(
        "--evaluate-every", type=int, default=500, metavar="UPDATES", help="default: %(default)s"
    )
    for server in (what.choices["versions"], what.choices["serving"]):
        server.add_argument(
            "--model",
            default="tatoeba-en-fr",
            help="a RUN folder or a name of `rnnsearch models` (default: %(default)s)",
        )
        server.add_argument(
            "--served", metavar="DIR", help="the base path of a model that is exported already"
        )
    server.add_argument(
        "--rate", type=float, default=3, help="requests a second (default: %(default)s)"
    )
    arguments = parser.parse_args()
    measuring.set_threads(1)
    print(
        f"## {pathlib.Path(sys.argv[0]).name} {arguments.what}\n\n{measuring.machine(1)}\n",
        flush=True,
    )
    run = {"serving": serving, "versions": versions, "training": training}[arguments.what]
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
