"""A client of gRPC that sends HTTP/2 frames one by one, so that it can leave out or delay any of
them.
"""

import collections
import contextlib
import socket
import struct
import time

DATA, HEADERS, RESET, SETTINGS, WINDOW_UPDATE = 0x0, 0x1, 0x3, 0x4, 0x8
END_STREAM, ACKNOWLEDGED, END_HEADERS = 0x1, 0x1, 0x4
INITIAL_WINDOW_SIZE = 0x4
LARGEST_FRAME = 1 << 14
PREDICT = "/tensorflow.serving.PredictionService/Predict"


class Http2Client:
    """A connection.

    Args:
        port: of gRPC.
        window: bytes of an answer that the server may send before they are asked for.

    Example:
        with Http2Client(server.grpc_port) as client:
            client.begin(1)
            client.send(1, b"half of a message")
    """

    def __init__(self, port, window=65535):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self._received = b""
        self._windows = collections.Counter({0: 65535})  # what may be sent on each stream
        self._first_window = 65535
        settings = struct.pack("!HI", INITIAL_WINDOW_SIZE, window)
        self._socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        self._frame(SETTINGS, 0, 0, settings)

    def begin(self, stream, path=PREDICT):
        """The headers of a call; streams have odd numbers, each higher than the last."""
        fields = {
            ":method": "POST",
            ":scheme": "http",
            ":path": path,
            ":authority": "localhost",
            "content-type": "application/grpc",
            "te": "trailers",
        }
        block = b"".join(  # literals that are not indexed
            b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
            for name, value in fields.items()
        )
        self._frame(HEADERS, END_HEADERS, stream, block)

    def send(self, stream, data, last=False):
        """Bytes of the call."""
        self._windows.subtract({0: len(data), stream: len(data)})
        self._frame(DATA, END_STREAM if last else 0, stream, data)

    def send_what_is_taken(self, stream, size, seconds):
        """As many of so many zeros as the server has room for."""
        sent = 0
        end = time.monotonic() + seconds
        while sent < size and time.monotonic() < end:
            room = min(self._windows[0], self._windows[stream] + self._first_window)
            count = min(room, size - sent, LARGEST_FRAME)
            if count > 0:
                self.send(stream, bytes(count))
                sent += count
            else:
                with contextlib.suppress(TimeoutError):
                    self._next(end - time.monotonic())

    def ended(self, streams, seconds=30):
        """Whether the server ends all these calls in so many seconds."""
        left = set(streams)
        end = time.monotonic() + seconds
        while left and time.monotonic() < end:
            try:
                kind, flags, stream = self._next(end - time.monotonic())
            except TimeoutError:
                break
            if kind == RESET or kind in (DATA, HEADERS) and flags & END_STREAM:
                left.discard(stream)
        return not left

    def _frame(self, kind, flags, stream, payload):
        head = struct.pack("!I", len(payload))[1:] + bytes([kind, flags])
        self._socket.sendall(head + struct.pack("!I", stream) + payload)

    def _next(self, seconds):
        """(kind, flags, stream) of a frame of the server."""
        self._socket.settimeout(max(seconds, 0.001))
        while len(self._received) < 9 or len(self._received) < 9 + self._size():
            data = self._socket.recv(1 << 16)
            if not data:
                raise ConnectionResetError("the server has closed the connection")
            self._received += data
        kind, flags = self._received[3:5]
        (stream,) = struct.unpack("!I", self._received[5:9])
        end = 9 + self._size()
        payload, self._received = self._received[9:end], self._received[end:]
        if kind == WINDOW_UPDATE:
            self._windows[stream] += int.from_bytes(payload, "big")
        elif kind == SETTINGS and not flags & ACKNOWLEDGED:
            settings = dict(struct.iter_unpack("!HI", payload))
            self._first_window = settings.get(INITIAL_WINDOW_SIZE, self._first_window)
            self._frame(SETTINGS, ACKNOWLEDGED, 0, b"")
        return kind, flags, stream

    def _size(self):
        return int.from_bytes(self._received[:3], "big")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._socket.close()
