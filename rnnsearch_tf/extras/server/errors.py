"""What a request that cannot be answered gets: a status code of gRPC and a message."""

from __future__ import annotations

import grpc

LONGEST_MESSAGE = 1024
CUT = "...TRUNCATED"


class ServingError(Exception):
    """A status other than OK.

    Args:
        code: a grpc.StatusCode.
        message: what went wrong; cut at 1024 bytes, as tensorflow_model_server does.

    Example:
        >>> message = "Servable not found for request: Latest(x)"
        >>> ServingError(grpc.StatusCode.NOT_FOUND, message).message
        'Servable not found for request: Latest(x)'
    """

    def __init__(self, code: grpc.StatusCode, message: str):
        self.code = code
        self.message = cut(message)
        super().__init__(f"{code.name}: {self.message}")


def cut(message: str) -> str:
    """The message, at most 1024 bytes of its UTF-8."""
    data = message.encode("utf-8", "replace")
    if len(data) <= LONGEST_MESSAGE:
        return data.decode()
    return data[:LONGEST_MESSAGE].decode("utf-8", "ignore") + CUT


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
