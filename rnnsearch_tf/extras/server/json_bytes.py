"""JSON as the bytes that REST sends; needs neither TensorFlow nor NumPy."""

from __future__ import annotations

import json
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message


def encode(document: Any) -> bytes:
    """JSON as UTF-8; half of a surrogate pair, which UTF-8 cannot hold, becomes a question mark."""
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")


def encode_message(message: Message, proto_names: bool = False) -> bytes:
    """A protocol buffer as JSON.

    Args:
        message: the message; fields without a value are written too.
        proto_names: names of fields as in the .proto file, not as its JSON names.
    """
    text = json_format.MessageToJson(
        message,
        preserving_proto_field_name=proto_names,
        always_print_fields_with_no_presence=True,
        ensure_ascii=False,
    )
    return text.encode("utf-8", "replace")
