"""Requests that no sane client sends, and what each may be answered with.

A Fuzzer draws from a seed: random bytes, damaged messages, wrong dtypes, shapes and
names, huge strings, ranks and nesting of any depth, shapes that one value fills, very
many rows, bad JSON, bad HTTP, packed bodies, connections that are kept and say nothing. It leaves
alone what would stop the server on purpose: signatures that wait.
"""

import collections
import gzip
import http.client
import json
import math
import pathlib
import random
import socket
import subprocess
import sys

import grpc
from tensorflow.core.framework import types_pb2
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    predict_pb2,
)

DEADLINE = 20  # seconds; no request may need it
HUGE = 3 << 20  # bytes
SIGNATURES = ["", "serving_default", "half_plus", "column", "rows", "echo", "refuse"]
INPUTS = {
    "serving_default": ["text"],
    "": ["text"],
    "echo": ["a_bytes", "b", "i32", "i64", "f32", "f64", "u8"],
}
FIELDS = {
    types_pb2.DT_STRING: "string_val",
    types_pb2.DT_FLOAT: "float_val",
    types_pb2.DT_DOUBLE: "double_val",
    types_pb2.DT_INT32: "int_val",
    types_pb2.DT_INT64: "int64_val",
    types_pb2.DT_BOOL: "bool_val",
}
SERVICES = [
    "PredictionService/Predict",
    "PredictionService/GetModelMetadata",
    "PredictionService/Classify",
    "PredictionService/Regress",
    "PredictionService/MultiInference",
    "ModelService/GetModelStatus",
    "ModelService/HandleReloadConfigRequest",
    "PredictionService/Nothing",
]
MOST_KEPT = 300  # connections that it holds open
PROPER = {
    "OK",
    "INVALID_ARGUMENT",
    "NOT_FOUND",
    "FAILED_PRECONDITION",
    "UNIMPLEMENTED",
    "OUT_OF_RANGE",
    "RESOURCE_EXHAUSTED",
}
UNREADABLE = PROPER | {"INTERNAL"}  # gRPC's own answer to bytes that are no message
STATUSES = {200, 400, 404, 405, 413, 429, 501}
HOST = "Host: localhost\r\n"


class Fuzzer:
    """Sends requests to a server and remembers what came back.

    Args:
        grpc_address, rest_address: HOST:PORT.
        model: the name under which the toy model is served.
        seed: of the random requests.

    Attributes:
        outcomes: Counter of (kind of request, status).
        improper: descriptions of what must not have happened.
    """

    def __init__(self, grpc_address, rest_address, model, seed):
        self.random = random.Random(seed)
        self.model = model
        self.outcomes = collections.Counter()
        self.improper = []
        self._rest_address = rest_address
        self._grpc_address = grpc_address
        self._channel = grpc.insecure_channel(
            grpc_address, [("grpc.max_receive_message_length", -1)]
        )
        self._kinds = [
            self.predict,
            self.predict,
            self.predict,
            self.garbage,
            self.damaged,
            self.information,
            self.packed,
            self.json,
            self.json,
            self.paths,
            self.bad_http,
            self.ranks,
            self.filled,
            self.rows,
            self.nested,
            self.connections,
        ]
        self._kept = collections.deque()

    def send(self, count):
        for _ in range(count):
            self.random.choice(self._kinds)()

    def close(self):
        self._channel.close()
        for connection in self._kept:
            connection.close()

    def predict(self):
        self._call(
            "predict",
            "PredictionService/Predict",
            self._predict_request().SerializeToString(),
            PROPER,
        )

    def ranks(self):
        """Shapes of one element, or none, and any number of dimensions."""
        rank = self.random.choice(
            [0, 1, 2, 8, 31, 32, 33, 34, 63, 64, 65, 128, 253, 254, 255, 256, 1000]
        )
        self._shaped(
            "ranks",
            [self.random.choice([1] * 60 + [0, 2]) for _ in range(rank)],
            self.random.randint(0, 2),
        )

    def filled(self):
        """A value or two for a shape of many."""
        sizes = [
            self.random.choice([1, 1, 2, 500, 513, 10**5, 2 * 10**6, 2**31, 2**40])
            for _ in range(self.random.randint(1, 4))
        ]
        self._shaped("filled", sizes, self.random.randint(0, 2))

    def rows(self):
        """As many values as rows, and many of both."""
        count = self.random.choice([100, 511, 512, 513, 5000, 50_000])
        if self.random.random() < 0.5:
            self._shaped("rows", [count], count)
        else:
            form = self.random.choice(["instances", "inputs"])
            value = self.random.choice(["", "a sentence .", 1, [], {}, {"x": 1}])
            self._http(
                "rows",
                "POST",
                f"/v1/models/{self.model}:predict",
                json.dumps({form: [value] * count}).encode(),
            )

    def nested(self):
        """JSON as deep as it likes, with one value at the bottom or none, or with another beside
        it.
        """
        depth = self.random.choice([2, 5, 30, 31, 32, 33, 34, 60, 64, 65, 100, 900, 5000])
        opened, closed = self.random.choice(
            [(b"[", b"]"), (b"[", b"]"), (b'{"x":', b"}"), (b"[1,", b"]")]
        )
        value = self.random.choice([b"", b"1", b'"a"', b"{}"]) if opened == b"[" else b"1"
        form = self.random.choice([b"instances", b"inputs"])
        signature = self.random.choice(SIGNATURES).encode()
        body = b'{"signature_name": "%s", "%s": %s}' % (
            signature,
            form,
            opened * depth + value + closed * depth,
        )
        self._http("nested", "POST", f"/v1/models/{self.model}:predict", body)

    def connections(self):
        """Connections that stay, to both interfaces: silent, half a head, half a body."""
        port = self.random.choice([self._rest_address, self._grpc_address])
        head = f"POST /v1/models/toy:predict HTTP/1.1\r\n{HOST}Content-Length: 1000\r\n\r\n"
        part = self.random.choice([b"", b"GET", head.encode() + b"{", b"PRI * HTTP/2.0\r\n\r\n"])
        try:
            connection = socket.create_connection(port.split(":"), timeout=DEADLINE)
            connection.sendall(part)
            self._kept.append(connection)
            status = "open"
            fine = True
        except OSError as error:
            status = type(error).__name__
            fine = False
        self._note("connections", status, fine, f"{port} {part!r}: {status}")
        if len(self._kept) > MOST_KEPT:
            self._kept.popleft().close()

    def garbage(self):
        self._call(
            "garbage",
            self.random.choice(SERVICES),
            self.random.randbytes(self._length()),
            UNREADABLE,
        )

    def damaged(self):
        body = bytearray(self._predict_request().SerializeToString() or b"\0")
        for _ in range(self.random.randint(1, 4)):
            body[self.random.randrange(len(body))] ^= 1 << self.random.randrange(8)
        self._call("damaged", "PredictionService/Predict", bytes(body), UNREADABLE)

    def information(self):
        if self.random.random() < 0.5:
            request = get_model_status_pb2.GetModelStatusRequest()
            method = "ModelService/GetModelStatus"
        else:
            request = get_model_metadata_pb2.GetModelMetadataRequest(
                metadata_field=self._some(["signature_def", self._word(), "signature_def"])
            )
            method = "PredictionService/GetModelMetadata"
        self._fill_spec(request.model_spec)
        self._call("information", method, request.SerializeToString(), PROPER)

    def packed(self):
        """Bodies that are said to be gzip: they are, in part, or unpack to far more."""
        body = self.random.choice(
            [
                lambda: gzip.compress(self._json_text()),
                lambda: gzip.compress(self._json_text())[: self.random.randint(0, 50)],
                lambda: gzip.compress(b" " * (8 << 20), 1),
                lambda: self.random.randbytes(self._length()),
            ]
        )()
        path = f"/v1/models/{self.model}:predict"
        self._http("packed", "POST", path, body, "Content-Encoding: gzip\r\n")

    def json(self):
        body = self.random.choice(
            [self._json_text, self._damaged_json, lambda: self.random.randbytes(self._length())]
        )()
        name = self.random.choice([self.model, self.model, self.model, "nothing"])
        self._http("json", "POST", f"/v1/models/{name}:predict", body)

    def paths(self):
        parts = [
            "/v1/models",
            f"/{self.model}",
            "/versions/1",
            "/labels/x",
            "/metadata",
            ":predict",
            ":classify",
            "/versions/" + "9" * 30,
            "/%00",
            "/%ff%fe",
            "//",
            "?a=b",
            "#",
            "/..",
            "/monitoring/prometheus/metrics",
        ]
        path = "".join(self._some(parts)) or "/"
        method = self.random.choice(["GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
        self._http("paths", method, path, self._json_text() if method in ("POST", "PUT") else b"")

    def bad_http(self):
        head = f"POST /v1/models/{self.model}:predict HTTP/1.1\r\n{HOST}".encode()
        chunk = self.random.choice([b"zz\r\n", b"-1\r\n{}", b"ffffffffffffffff\r\n{}", b"2\r\n{}"])
        request = self.random.choice(
            [
                self.random.randbytes(self._length() % 5000) + b"\r\n\r\n",
                head + b"Content-Length: %d\r\n\r\n{}" % self.random.choice([-1, 0, 10, 10**30]),
                head + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
                head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk,
                head + b"Transfer-Encoding: " + self._word().encode() + b"\r\n\r\n{}",
                head[: self.random.randrange(len(head))],
                b"GET / HTTP/9.9\r\n\r\n",
                "GET /v1/models/\u00e9 HTTP/1.1\r\n\r\n".encode(),
                head + b"X: \0\r\n: y\r\n\r\n",
            ]
        )
        self._raw(request)

    def _call(self, kind, method, body, proper):
        call = self._channel.unary_unary(f"/tensorflow.serving.{method}")  # bytes go as they are
        try:
            call(body, timeout=DEADLINE)
            status = "OK"
            detail = ""
        except grpc.RpcError as error:
            status = error.code().name
            detail = error.details()
        self._note(kind, status, status in proper, f"{method} {body[:200]!r}: {status} {detail}")

    def _http(self, kind, method, path, body, headers=""):
        head = f"{method} {path} HTTP/1.1\r\n{HOST}{headers}Content-Length: {len(body)}\r\n\r\n"
        try:
            with self._connection() as connection:
                connection.sendall(head.encode("latin-1") + body)
                response = http.client.HTTPResponse(connection, method=method)
                response.begin()
                text = response.read()
                status = response.status
            # otherwise it was refused as bad HTTP
            ours = response.getheader("Content-Type") == "application/json"
            fine = status == 200 or status in STATUSES and (not ours or "error" in json.loads(text))
        except (OSError, ValueError, http.client.HTTPException) as error:
            status = type(error).__name__
            fine = False
            text = str(error)
        self._note(kind, status, fine, f"{method} {path} {body[:200]!r}: {status} {text[:200]}")

    def _raw(self, request):
        try:
            with self._connection() as connection:
                connection.sendall(request)
                connection.shutdown(socket.SHUT_WR)
                answer = connection.recv(65536)
            status = int(answer[9:12]) if answer else "closed"
            fine = status == "closed" or status in STATUSES
        except (ConnectionResetError, BrokenPipeError):  # closed with some of it unread
            status = "closed"
            fine = True
        except (OSError, ValueError) as error:
            status = type(error).__name__
            fine = False
        self._note("bad_http", status, fine, f"{request[:200]!r}: {status}")

    def _connection(self):
        host, port = self._rest_address.split(":")
        return socket.create_connection((host, int(port)), timeout=DEADLINE)

    def _note(self, kind, status, fine, description):
        self.outcomes[kind, status] += 1
        if not fine:
            self.improper.append(f"{kind}: {description}")

    def _predict_request(self):
        if self.random.random() < 0.3:
            return self._right_request()
        request = predict_pb2.PredictRequest(
            output_filter=self._some(["y", "translation", self._word()], 0.2)
        )
        self._fill_spec(request.model_spec)
        names = INPUTS.get(request.model_spec.signature_name, ["x"])
        for name in (
            names if self.random.random() < 0.8 else self._some([*names, "text", self._word()])
        ):
            self._fill_tensor(request.inputs[name])
        return request

    def _right_request(self):
        name, dtype, signature = self.random.choice(
            [("text", types_pb2.DT_STRING, ""), ("x", types_pb2.DT_FLOAT, "half_plus")]
        )
        request = predict_pb2.PredictRequest(
            model_spec={"name": self.model, "signature_name": signature}
        )
        tensor = request.inputs[name]
        tensor.dtype = dtype
        tensor.tensor_shape.dim.add(size=self.random.randint(0, 4))
        getattr(tensor, FIELDS[dtype]).extend(
            self._value(dtype) for _ in range(tensor.tensor_shape.dim[0].size)
        )
        return request

    def _shaped(self, kind, sizes, values):
        """A Predict whose tensor has this shape and this number of values."""
        name, dtype, signature = self.random.choice(
            [("text", types_pb2.DT_STRING, ""), ("x", types_pb2.DT_FLOAT, "half_plus")]
        )
        request = predict_pb2.PredictRequest(
            model_spec={"name": self.model, "signature_name": signature}
        )
        tensor = request.inputs[name]
        tensor.dtype = dtype
        for size in sizes:
            tensor.tensor_shape.dim.add(size=size)
        # not 50,000 times 3 MB
        value = self._value(dtype) if values < 100 else {types_pb2.DT_STRING: b"a"}.get(dtype, 0.5)
        getattr(tensor, FIELDS[dtype]).extend([value] * values)
        self._call(kind, "PredictionService/Predict", request.SerializeToString(), PROPER)

    def _fill_spec(self, spec):
        spec.name = self.random.choice([self.model] * 8 + ["", self._word()])
        spec.signature_name = self.random.choice(SIGNATURES * 3 + [self._word()])
        if self.random.random() < 0.2:
            spec.version.value = self.random.choice([1, 2, 0, -1, 2**63 - 1])
        elif self.random.random() < 0.1:
            spec.version_label = self._word()

    def _fill_tensor(self, tensor):
        tensor.dtype = self.random.choice(
            [*FIELDS, types_pb2.DT_FLOAT, types_pb2.DT_STRING, self.random.randrange(0, 60)]
        )
        dims = [
            self.random.choice([0, 1, 2, 3, 3, -1, 2**40, 2**62])
            for _ in range(self.random.choice([0, 1, 1, 1, 2, 300]))
        ]
        rows = self.random.randint(0, 4)
        for size in [rows] if self.random.random() < 0.6 else dims:
            tensor.tensor_shape.dim.add(size=size)
        tensor.tensor_shape.unknown_rank = self.random.random() < 0.05
        dtype = (
            tensor.dtype
            if tensor.dtype in FIELDS and self.random.random() < 0.9
            else self.random.choice(list(FIELDS))
        )
        values = [
            self._value(dtype)
            for _ in range(rows if self.random.random() < 0.8 else self.random.randint(0, 6))
        ]
        if self.random.random() < 0.1:
            tensor.tensor_content = self.random.randbytes(self._length())
        else:
            getattr(tensor, FIELDS[dtype]).extend(values)

    def _value(self, dtype):
        if dtype == types_pb2.DT_STRING:
            return self.random.randbytes(self._length())
        if dtype == types_pb2.DT_BOOL:
            return self.random.random() < 0.5
        if dtype in (types_pb2.DT_FLOAT, types_pb2.DT_DOUBLE):
            return self.random.choice([0.5, -1.0, float("nan"), float("inf"), 1e-40])
        return self.random.choice([0, -1, 2**31 - 1])

    def _json_text(self) -> bytes:
        if self.random.random() < 0.2:
            return json.dumps({"instances": ["a", "\u00e9" * self._length()]}).encode()
        document = {
            self.random.choice(["instances", "inputs", "inputs", self._word()]): self._json_value(0)
        }
        if self.random.random() < 0.6:
            document["signature_name"] = self.random.choice([*SIGNATURES, self._word(), 1, None])
        return json.dumps(document).encode()

    def _json_value(self, depth):
        if depth < 5 and self.random.random() < 0.6:
            items = [self._json_value(depth + 1) for _ in range(self.random.randint(0, 4))]
            names = ["text", "x", "b64", *INPUTS["echo"], self._word()]
            return (
                items
                if self.random.random() < 0.6
                else {self.random.choice(names): item for item in items}
            )
        long = "\u20ac" * self._length()
        return self.random.choice(
            [
                None,
                True,
                0,
                -1,
                2**70,
                0.5,
                float("nan"),
                1e300,
                "",
                "a",
                "\ud800",
                long,
                {"b64": "AA=="},
            ]
        )

    def _damaged_json(self) -> bytes:
        text = bytearray(self._json_text())
        for _ in range(self.random.randint(1, 5)):
            text[self.random.randrange(len(text))] = self.random.randrange(256)
        return bytes(text) if self.random.random() < 0.9 else b'{"inputs": ' + b"[" * 200_000

    def _length(self) -> int:
        return HUGE if self.random.random() < 0.005 else self.random.choice([0, 1, 5, 50, 500])

    def _word(self) -> str:
        return "".join(
            self.random.choice("abcxyz_\u00e9/:%\0 ") for _ in range(self.random.randint(0, 12))
        )

    def _some(self, items, share=0.4) -> list:
        return [item for item in items if self.random.random() < share]


def attack(server, count, seed):
    """(Fuzzer after `count` requests, seconds that health needed each time it was asked meanwhile),
    of a WatchedServer.
    """
    fuzzer = Fuzzer(server.grpc, server.rest, "toy", seed)
    command = [
        sys.executable,
        str(pathlib.Path(__file__).with_name("health_watch.py")),
        server.grpc,
    ]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as watch:
        try:
            fuzzer.send(count)
        finally:
            delays = json.loads(watch.communicate()[0])  # closes its standard input
            fuzzer.close()
    return fuzzer, [math.inf if delay is None else delay for delay in delays]
