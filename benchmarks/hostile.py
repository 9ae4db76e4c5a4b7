"""What requests that no sane client sends cost a server of the shipped model: its memory, its
answers, and how long health takes.

    python benchmarks/hostile.py [--requests 20000] [--seed 1] [--concurrency 16] [--minutes 60]
        [--export DIR] [--quick]
    python benchmarks/hostile.py --command "my-server --model {export} --rest {rest}"

Exports `tatoeba-en-fr` with every signature (or takes the folder of its versions, --export), starts
the server on loopback in a process of its own, and sends requests of every signature over gRPC and
REST: at the limits and beyond them, phrases for every token, combining marks, bytes that are no
text or no message, rows without end, shapes that one value fills, compressed bodies and bombs, JSON
as deep as it likes, connections that say nothing. Meanwhile a second process asks for the model's
status ten times a second.

In --command {export} stands for the folder of versions, {name} for the model's name, {grpc} and
{rest} for ports; without {grpc} everything goes over REST. --minutes ends the sending; each request
has a deadline of its own.

Prints Markdown tables. Exit code 1: the server ended, took 4 GB (it is ended there), or answered
with an internal error.
"""

import argparse
import base64
import collections
import concurrent.futures
import contextlib
import gzip
import http.client
import json
import pathlib
import random
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).parents[1]
NAME = "hostile"
MOST_MEMORY = 4 << 30  # bytes of the server's process and its children
LOOK = 0.1  # seconds between looks at its memory
ASK = 0.1  # seconds between questions for its status
PATIENCE = 60  # seconds for an answer beyond the deadline of its request
STARTED_IN = 600  # seconds
# seconds, deadlines
SMALL = 10
LARGE = 20

ONE_TEXT = ("translate", "translate_nbest", "translate_aligned", "tokenize", "serving_default")
SIGNATURES = (*ONE_TEXT, "translate_constrained", "score", "confidence", "sample")
LONG = "book " * 250  # longer than the 200 tokens that are read; its translation does not end
PHRASES = "\t".join(["a"] * 64)  # as many as a sentence may have
TABLE = "\t".join(["a"] * 64 + ["a " * 65])  # many phrases and a long one

ANSWERED = "answered"
REFUSED = "refused"
LATE = "late or busy"
BROKEN = "broken"
KINDS = {
    "OK": ANSWERED,
    "INVALID_ARGUMENT": REFUSED,
    "NOT_FOUND": REFUSED,
    "FAILED_PRECONDITION": REFUSED,
    "UNIMPLEMENTED": REFUSED,
    "OUT_OF_RANGE": REFUSED,
    "RESOURCE_EXHAUSTED": REFUSED,
    "DEADLINE_EXCEEDED": LATE,
    "UNAVAILABLE": LATE,
    "CANCELLED": LATE,
    200: ANSWERED,
    429: REFUSED,
    503: LATE,
    504: LATE,
}


class Hostile:
    """Draws requests from a seed and sends them, one after the other.

    Args:
        grpc_port: int or None, everything goes over REST then.
        rest_port: int.
        seed: str.

    Attributes:
        outcomes: Counter of (kind of request, what came of it).
        broken: descriptions of answers that must not be.
    """

    def __init__(self, grpc_port, rest_port, seed):
        self.random = random.Random(seed)
        self.outcomes = collections.Counter()
        self.broken = []
        self._rest = rest_port
        self._channel = None
        self._kept = collections.deque(maxlen=8)
        if grpc_port:
            import grpc

            unlimited = [
                ("grpc.max_receive_message_length", -1),
                ("grpc.max_send_message_length", -1),
            ]
            self._channel = grpc.insecure_channel(f"127.0.0.1:{grpc_port}", unlimited)
        plain = (
            [self.sane] * 30
            + [self.odd_text] * 15
            + [self.wrong_inputs] * 12
            + [self.bytes_of_no_message] * 8
            + [self.bad_json] * 8
        )
        rare = (
            [self.compressed] * 6
            + [self.many_rows] * 6
            + [self.silent] * 4
            + [self.phrases] * 4
            + [self.marks] * 4
        )
        self._kinds = 4 * (plain + rare) + [self.large, self.at_the_limit, self.beyond_the_answer]

    def send_one(self):
        kind = self.random.choice(self._kinds)
        try:
            status = kind()
            outcome = KINDS.get(
                status,
                (
                    REFUSED
                    if isinstance(status, int) and 400 <= status < 500 or status == 501
                    else BROKEN
                ),
            )
        except TimeoutError:
            status = "no answer"
            outcome = LATE
        except (
            OSError,
            http.client.HTTPException,
        ) as error:  # a connection that is closed is an answer to what is no HTTP
            status = type(error).__name__
            outcome = REFUSED
        self.outcomes[kind.__name__, outcome] += 1
        if outcome == BROKEN:
            self.broken.append(f"{kind.__name__}: {status}")

    def close(self):
        if self._channel is not None:
            self._channel.close()

    def sane(self):
        words = ["a", "book", "the", "old", "house", "I", "see", "Where", "?", "."]
        rows = [
            " ".join(self.random.choices(words, k=self.random.randint(1, 8)))
            for _ in range(self.random.randint(1, 4))
        ]
        return self._predict(self.random.choice(SIGNATURES), rows, SMALL)

    def odd_text(self):
        texts = [
            "",
            " \t ",
            "\0",
            "</s>",
            "<unk> <pad>",
            "\u200b",
            "👩\u200d👩\u200d👧",
            "שלום",
            "\ufeff",
            "a" * 5000,
            ". " * 30,
            "\t" * 500,
        ]
        return self._predict(
            self.random.choice(SIGNATURES),
            self.random.choices(texts, k=self.random.randint(0, 3)),
            SMALL,
        )

    def phrases(self):
        """The constraints of one row, of which every row pays for a table."""
        rows = self.random.choice([1, 2, 8, 32])
        constraints = [
            self.random.choice([PHRASES, TABLE, "☃\t" * 64, "a" * 20_000]),
            *[""] * (rows - 1),
        ]
        return self._predict("translate_constrained", ["a"] * rows, SMALL, constraints)

    def marks(self):
        """Normalizing is quadratic in a run of combining marks."""
        marks = "a" + "\u0301\u0323" * self.random.choice([100, 1_000, 10_000, 100_000])
        return self._predict(self.random.choice(SIGNATURES), [marks], SMALL)

    def many_rows(self):
        rows = self.random.choice([100, 511, 512, 513, 5_000])
        return self._predict(
            self.random.choice(SIGNATURES), [self.random.choice(["", "a"])] * rows, LARGE
        )

    def at_the_limit(self):
        rows = self.random.choice([64, 512])
        return self._predict(self.random.choice(SIGNATURES), [LONG] * rows, LARGE, [PHRASES] * rows)

    def beyond_the_answer(self):
        return self._predict(
            "translate_aligned", [LONG] * self.random.choice([65, 128, 512]), LARGE
        )

    def large(self):
        """Up to what a request may have, and more."""
        size = self.random.choice([1 << 20, 15 << 20, 17 << 20])
        text = self.random.choice([b"a ", b".", b"\xff", "é".encode()])
        return self._predict(self.random.choice(SIGNATURES), [text * (size // len(text))], LARGE)

    def wrong_inputs(self):
        """Other names, types, ranks and sizes; a shape that one value fills."""
        from tensorflow.core.framework import types_pb2
        from tensorflow_serving.apis import predict_pb2

        if self._channel is None:
            body = {
                "signature_name": self.random.choice([*SIGNATURES, "x"]),
                "inputs": {"text": self.random.choice([[[]], 1, None, {}])},
            }
            return self._post(json.dumps(body).encode(), SMALL)
        request = predict_pb2.PredictRequest()
        request.model_spec.name, request.model_spec.signature_name = (
            NAME,
            self.random.choice([*SIGNATURES, "x"]),
        )
        for name in self.random.sample(
            ["text", "source", "target", "seed", "constraints", "x"], k=self.random.randint(0, 3)
        ):
            tensor = request.inputs[name]
            tensor.dtype = self.random.choice(
                [types_pb2.DT_STRING, types_pb2.DT_INT64, types_pb2.DT_FLOAT, 0, 99]
            )
            for _ in range(self.random.choice([0, 1, 2, 33, 255])):
                tensor.tensor_shape.dim.add(size=self.random.choice([0, 1, 2, -1, 2**20, 2**40]))
            tensor.string_val.extend([b"a"] * self.random.randint(0, 3))
            tensor.int64_val.extend([1] * self.random.randint(0, 3))
        return self._call(request.SerializeToString(), SMALL)

    def bytes_of_no_message(self):
        data = self.random.randbytes(self.random.choice([0, 1, 10, 1_000, 100_000]))
        if self._channel is None or self.random.random() < 0.5:
            return self._post(data, SMALL)
        status = self._call(data, SMALL)
        # gRPC's own answer to what it cannot read
        return "INVALID_ARGUMENT" if status == "INTERNAL" else status

    def bad_json(self):
        depth = self.random.choice([10, 1_000, 100_000])
        bodies = [
            b'{"instances": ' + b"[" * depth,
            b'{"instances": ["a"',
            b'{"inputs": 1e999}',
            b'["\\ud800"]',
            b'{"instances": [' + b"[]," * depth,
        ]
        return self._post(self.random.choice(bodies), SMALL)

    def compressed(self):
        text = json.dumps({"instances": ["I see a cat."]}).encode()
        bomb = text + b" " * (self.random.choice([1, 64, 256]) << 20)
        body = self.random.choice(
            [gzip.compress(text), gzip.compress(bomb, 1), gzip.compress(text)[:-4], text]
        )
        return self._post(body, SMALL, {"Content-Encoding": "gzip"})

    def silent(self):
        """A connection that is kept and says nothing, or half of something."""
        half = (
            b"POST /v1/models/%s:predict HTTP/1.1\r\nContent-Length: 1000\r\n\r\n{" % NAME.encode()
        )
        connection = socket.create_connection(("127.0.0.1", self._rest), timeout=SMALL)
        connection.sendall(self.random.choice([b"", b"GET", half, b"PRI * HTTP/2.0\r\n\r\n"]))
        self._kept.append(connection)
        return 200

    def _predict(self, signature, rows, deadline, constraints=None):
        inputs = (
            {"source": rows, "target": rows}
            if signature in ("score", "confidence")
            else {"text": rows}
        )
        if signature == "sample":
            inputs["seed"] = list(range(len(rows)))
        if signature == "translate_constrained":
            inputs["constraints"] = constraints or [
                self.random.choice(["", "livre", "a\tb"]) for _ in rows
            ]
        if self._channel is None or self.random.random() < 0.5:
            as_json = {
                name: [_json_value(value) for value in values] for name, values in inputs.items()
            }
            return self._post(
                json.dumps({"signature_name": signature, "inputs": as_json}).encode(), deadline
            )
        import tensorflow as tf
        from tensorflow_serving.apis import predict_pb2

        request = predict_pb2.PredictRequest()
        request.model_spec.name = NAME
        request.model_spec.signature_name = signature
        for name, values in inputs.items():
            dtype = tf.int64 if name == "seed" else tf.string
            request.inputs[name].CopyFrom(tf.make_tensor_proto(values, dtype, shape=[len(values)]))
        return self._call(request.SerializeToString(), deadline)

    def _call(self, message, deadline):
        import grpc

        try:
            self._channel.unary_unary("/tensorflow.serving.PredictionService/Predict")(
                message, timeout=deadline
            )
        except grpc.RpcError as error:
            return error.code().name
        return "OK"

    def _post(self, body, deadline, headers=()):
        connection = http.client.HTTPConnection(
            "127.0.0.1", self._rest, timeout=deadline + PATIENCE
        )
        with contextlib.closing(connection):
            connection.request("POST", f"/v1/models/{NAME}:predict", body, dict(headers))
            response = connection.getresponse()
            while response.read(1 << 20):
                pass
            return response.status


def _json_value(value):
    return {"b64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


class Server:
    """A server's process, watched; ended when it takes more memory than it may.

    Attributes:
        process: subprocess.Popen.
        peak: most bytes that it and all that came from it had at once.
    """

    def __init__(self, command):
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        self.peak = 0
        self.log = collections.deque(maxlen=20)
        threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True).start()
        threading.Thread(target=self._watch, daemon=True).start()

    def is_alive(self):
        return self.process.poll() is None

    def memory(self) -> int:
        """Bytes of resident memory now, of it and all that came from it."""
        return sum(map(_resident, _family(self.process.pid)))

    def _watch(self):
        while self.is_alive():
            self.peak = max(self.peak, self.memory())
            if self.peak > MOST_MEMORY:
                self.process.kill()
            time.sleep(LOOK)


def _family(process):
    """The numbers of a process and of all that came from it."""
    with contextlib.suppress(OSError):
        yield process
        for children in pathlib.Path(f"/proc/{process}/task").glob("*/children"):
            for child in children.read_text().split():
                yield from _family(int(child))


def _resident(process) -> int:
    """Bytes of a process; of a page that several have, its share."""
    with contextlib.suppress(OSError, StopIteration):
        lines = pathlib.Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return 0


def status_after(port) -> float:
    """Seconds until the server said that the model is available, on a connection of its own;
    infinity: it did not.
    """
    started = time.monotonic()
    with contextlib.closing(
        http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    ) as connection:
        try:
            connection.request("GET", f"/v1/models/{NAME}")
            response = connection.getresponse()
            fine = b"AVAILABLE" in response.read() and response.status == 200
        except (OSError, http.client.HTTPException):
            fine = False
    return time.monotonic() - started if fine else float("inf")


def watch_health(port):
    """Ask until standard input ends, then print the seconds of each answer; in a process of its
    own, for a busy one measures itself.
    """
    ended = threading.Event()
    delays = []
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    while not ended.wait(ASK):
        delays.append(status_after(port))
    print(json.dumps(delays))


def attack(server, ports, count, seed, concurrency, minutes):
    """(outcomes, broken answers, seconds that health took each time) of `count` requests, or of as
    many as the minutes allow.
    """
    # here, since threads that import it at the same time find it half imported
    import tensorflow  # noqa: F401

    end = time.monotonic() + 60 * minutes
    share = -(-count // concurrency)
    senders = [Hostile(*ports, f"{seed}/{number}") for number in range(concurrency)]

    def work(sender):
        for _ in range(share):
            if time.monotonic() > end or not server.is_alive():
                break
            sender.send_one()
        sender.close()

    with subprocess.Popen(
        [sys.executable, __file__, "--watch", str(ports[1])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as watch:
        with concurrent.futures.ThreadPoolExecutor(concurrency) as threads:
            list(threads.map(work, senders))  # raises what a sender raised
        delays = sorted(json.loads(watch.communicate()[0]))  # closes its standard input
    outcomes = sum((sender.outcomes for sender in senders), collections.Counter())
    return outcomes, [line for sender in senders for line in sender.broken], delays


def report(server, outcomes, broken, delays, seconds, before):
    """Print what came of it; whether all was well."""
    alive = server.is_alive()
    memory = ", ".join(
        f"{value >> 20:,}" for value in (before, server.peak, server.memory() if alive else 0)
    )
    health = (
        ", ".join(f"{1000 * delays[int(part * (len(delays) - 1))]:,.0f}" for part in (0.5, 0.99, 1))
        if delays
        else "not asked"
    )
    totals = collections.Counter()
    for (_, outcome), number in outcomes.items():
        totals[outcome] += number
    ends = ANSWERED, REFUSED, LATE, BROKEN
    print(
        f"| requests | a second | {' | '.join(ends)} | memory before, peak, after (MiB) | health"
        " median, 99 %, slowest (ms) |"
    )
    print("|---|---|---|---|---|---|---|---|")
    numbers = " | ".join(f"{totals[end]:,}" for end in ends)
    print(
        f"| {totals.total():,} | {totals.total() / seconds:,.1f} | {numbers} | {memory} |"
        f" {health} |\n"
    )
    print(f"| kind | {' | '.join(ends)} |\n|---|---|---|---|---|")
    for kind in sorted({kind for kind, _ in outcomes}):
        print(
            f"| {kind.replace('_', ' ')} |"
            f" {' | '.join(f'{outcomes[kind, end]:,}' for end in ends)} |"
        )
    for line in broken[:10]:
        print(line[:300], file=sys.stderr)
    if not alive:
        print(
            f"the server ended, at {server.peak >> 20:,} MiB:",
            *server.log,
            sep="\n",
            file=sys.stderr,
        )
    return alive and not broken and server.peak < MOST_MEMORY


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def export(folder):
    """Every signature of the shipped model, as the folder's version 1."""
    command = [
        sys.executable,
        "-m",
        "rnnsearch_tf",
        "export",
        "--model",
        "tatoeba-en-fr",
        "--output",
        str(folder),
    ]
    subprocess.run(
        [*command, "--profile", str(ROOT / "export" / "default.yaml")], check=True, cwd=ROOT
    )


def main():
    serve = (
        "{python} -m rnnsearch_tf serve --model_name={name} --model_base_path={export}"
        " --port={grpc} --rest_api_port={rest}"
    )
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--concurrency", type=int, default=16, help="requests on their way at once")
    parser.add_argument("--minutes", type=float, default=60, help="after which no more are sent")
    parser.add_argument(
        "--export",
        metavar="DIR",
        help="folder of the versions of an exported model, with every signature",
    )
    parser.add_argument(
        "--command",
        metavar="WORDS",
        default=serve,
        help="starts the server (default: rnnsearch serve)",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="200 requests, for 3 minutes at most: only tries the program",
    )
    parser.add_argument("--watch", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.watch:
        return watch_health(arguments.watch)
    count, minutes = (200, 3) if arguments.quick else (arguments.requests, arguments.minutes)
    with tempfile.TemporaryDirectory() as made:
        folder = arguments.export or pathlib.Path(made) / "model"
        if not arguments.export:
            export(folder)
        ports = free_port() if "{grpc}" in arguments.command else None, free_port()
        places = {
            "python": sys.executable,
            "export": folder,
            "name": NAME,
            "grpc": ports[0],
            "rest": ports[1],
        }
        server = Server([word.format(**places) for word in shlex.split(arguments.command)])
        try:
            begun = time.monotonic()
            while status_after(ports[1]) == float("inf"):
                if not server.is_alive() or time.monotonic() - begun > STARTED_IN:
                    print(
                        "expected the server to start, got:", *server.log, sep="\n", file=sys.stderr
                    )
                    return 1
                time.sleep(ASK)
            before = server.memory()
            begun = time.monotonic()
            results = attack(server, ports, count, arguments.seed, arguments.concurrency, minutes)
            fine = report(server, *results, time.monotonic() - begun, before)
        finally:
            server.process.kill()
            server.process.wait()
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
