"""What a request that cannot be answered gets: a status code of gRPC and a message."""

from __future__ import annotations

import grpc

LONGEST_MESSAGE = 1024
CUT = "...TRUNCATED"


class ServingError(Exception):
    """A status other than OK.

    Args:
        code: a grpc.StatusCode.
        message: what went wrong; cut at 1024 bytes of UTF-8, as tensorflow_model_server does.
    """

    def __init__(self, code: grpc.StatusCode, message: str):
        data = message.encode("utf-8", "replace")
        self.code = code
        self.message = data[:LONGEST_MESSAGE].decode("utf-8", "ignore")
        if len(data) > LONGEST_MESSAGE:
            self.message += CUT
        super().__init__(f"{code.name}: {self.message}")


def invalid_argument(message: str) -> ServingError:
    return ServingError(grpc.StatusCode.INVALID_ARGUMENT, message)


def not_found(message: str) -> ServingError:
    return ServingError(grpc.StatusCode.NOT_FOUND, message)


def unavailable(message: str) -> ServingError:
    return ServingError(grpc.StatusCode.UNAVAILABLE, message)


def deadline_exceeded() -> ServingError:
    return ServingError(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded")


def code_of(number: int) -> grpc.StatusCode:
    """The status code of this number; UNKNOWN if there is none."""
    return _CODES.get(number, grpc.StatusCode.UNKNOWN)


_CODES = {code.value[0]: code for code in grpc.StatusCode}
