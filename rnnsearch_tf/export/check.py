"""Check a SavedModel before it is published: a new process gives the answers that its functions
gave in the process that wrote it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.export.saved_model import run_requests
from rnnsearch_tf.translation.results import Answer

TRICKY = [
    b"",
    b"   \t ",
    "“naïve” — 12.5 % …".encode(),
    "e\u0301te\u0301 a\u0300 la plage".encode(),  # combining marks
    "👩\u200d👩\u200d👧 🇫🇷 🙂🙃".encode(),
    "שלום עולם مرحبا بالعالم".encode(),  # right to left
    b"invalid \xff\xfe bytes \xc3",
    "\x00null \x07bell \u2028 line".encode(),
    b"(( !! ||| </s> <unk>",
]
LONG = b"all work and no play makes a dull day " * 64  # more tokens than the limit
ALONE = [TRICKY[0], TRICKY[3], TRICKY[6], LONG]
"""Lines that are also asked alone: empty, combining marks, invalid UTF-8, overlong."""

TOLERANCE = 1e-5
"""Largest difference of two numbers: absolute, or relative above 1."""


def check_export(
    folder: str | os.PathLike[str],
    functions: Callable[..., Answer],
    signatures: Sequence[str],
    sentences: Sequence[str],
) -> int:
    """Compare the answers of an exported model in a new process with those of its functions here,
    for lines that are hard to handle and sentences of the model's own words.

    Returns:
        number of rows that were compared.

    Raises:
        UserError: an answer differs (the message shows the first), or the model cannot be loaded.
    """
    lines = [*TRICKY, *(line.encode() for line in sentences)]
    batches = [lines, *([line] for line in ALONE)]
    requests = [(name, _inputs(name, batch)) for name in signatures for batch in batches]
    for (name, inputs), answer in zip(requests, run_requests(folder, requests)):
        expected = functions(name, **inputs)
        for key in expected:
            if not _equal(answer[key], expected[key]):
                wanted, got = (str(each[key].tolist())[:80] for each in (expected, answer))
                raise UserError(
                    f"{folder}: {name}: expected the {key} that this process gives, {wanted}, got"
                    f" {got} in a new one; the export would be wrong and is not published"
                )
    return sum(map(len, batches)) * len(signatures)


def _inputs(name: str, lines: Sequence[bytes]) -> dict[str, Sequence[Any]]:
    """Inputs of a function, made of lines."""
    if name == "score":
        return {"source": lines, "target": lines[::-1]}
    if name == "sample":
        return {"text": lines, "seed": range(len(lines)), "temperature": [1.0] * len(lines)}
    return {"text": lines}


def _equal(found: np.ndarray, expected: np.ndarray) -> bool:
    if expected.dtype.kind != "f" or found.shape != expected.shape:
        return np.array_equal(found, expected)
    return np.allclose(found, expected, TOLERANCE, TOLERANCE)
