"""What a request that cannot be answered gets: a gRPC status code and a message."""

from __future__ import annotations

import grpc

LONGEST_MESSAGE = 1024
CUT = "...TRUNCATED"


class ServingError(Exception):
    """A status other than OK.

    Args:
        code: a grpc.StatusCode.
        message: what went wrong; cut at 1024 characters as tensorflow_model_server does.

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
    """The message, at most 1024 characters of it."""
    return message if len(message) <= LONGEST_MESSAGE else message[:LONGEST_MESSAGE] + CUT


def invalid_argument(message: str) -> ServingError:
    return ServingError(grpc.StatusCode.INVALID_ARGUMENT, message)


def not_found(message: str) -> ServingError:
    return ServingError(grpc.StatusCode.NOT_FOUND, message)


def unavailable(message: str) -> ServingError:
    return ServingError(grpc.StatusCode.UNAVAILABLE, message)


def deadline_exceeded() -> ServingError:
    return ServingError(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded")


def cancelled_error() -> ServingError:
    return ServingError(grpc.StatusCode.CANCELLED, "The caller has gone")
