"""How the server and a model's process communicate: frames over a socket, and what is in them.

A request is a number, a Kind, the seconds it may take and its bytes; an answer is the number, a
status code of gRPC and its bytes: the answer, or the message of an error. Answer 0 is sent once
the model is loaded, or cannot be.
"""

from __future__ import annotations

import enum
import struct
from typing import BinaryIO

REQUEST = struct.Struct("!QBdI")
ANSWER = struct.Struct("!QBI")
LOADED = 0
"""Number of the first answer; its bytes are a FileDescriptorSet of the messages of the API."""


class Kind(enum.IntEnum):
    """What a request's bytes are, and so its answer's."""

    PREDICT = 1
    """PredictRequest → PredictResponse"""
    METADATA = 2
    """GetModelMetadataRequest → GetModelMetadataResponse"""
    REST_PREDICT = 3
    """a body of JSON → a body of JSON"""
    REST_METADATA = 4
    """nothing → a body of JSON"""
    PROBE = 5
    """nothing → nothing, after the model has translated a sentence"""


def receive(stream: BinaryIO, size: int) -> bytes:
    """So many bytes of a blocking stream; EOFError if the other side has gone."""
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data
