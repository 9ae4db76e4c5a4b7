"""Translate one file of a corpus: one output line for each input line, and a record of every line
that could not be translated.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from typing import TYPE_CHECKING, Any

from rnnsearch_tf.files.atomic import cannot_write
from rnnsearch_tf.files.reading import raw_batches
from rnnsearch_tf.files.streams import LONGEST_LINE
from rnnsearch_tf.files.writing import whole_file

if TYPE_CHECKING:
    from rnnsearch_tf.extras.bulk.engine import Engine

WINDOW = 4096
"""Lines that are read together and sorted by length; this limits the memory."""

_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f]")  # except white space
_BREAK = re.compile("[\r\n]")


def translate_shard(
    translate: Engine,
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    bad: str | os.PathLike[str],
    window: int = WINDOW,
) -> None:
    """Translate a file.

    A bad line, which is not text or is too long, becomes an empty line of the output and a record
    in the file of bad lines: ``{"file": …, "line": number from 1, "reason": …}``. Without bad
    lines, that file is not written. The output is written atomically, as the last step.

    Args:
        translate: the engine.
        source: path of the input, plain or ``.gz``.
        output: path of the translation.
        bad: path of the file of bad lines.
        window: lines that are read together.

    Raises:
        UserError: the file cannot be read, or a file cannot be written.
    """
    number = 0
    try:
        with contextlib.ExitStack() as stack:
            results = stack.enter_context(whole_file(output))
            records = None
            for lines in raw_batches(source, window, cut=True):
                texts, reasons = _translated(
                    translate, [line.removesuffix(b"\r") for line in lines]
                )
                results.write("".join(f"{text}\n" for text in texts).encode("utf-8"))
                for row, reason in sorted(reasons.items()):
                    records = records or stack.enter_context(whole_file(bad))
                    record = {"file": os.fspath(source), "line": number + row + 1, "reason": reason}
                    records.write(to_json(record))
                number += len(lines)
    except OSError as error:
        raise cannot_write(output, error) from None


def to_json(value: Any, indent: int | None = None) -> bytes:
    """A value as JSON in UTF-8. Bytes of a file name that are not UTF-8 become escapes of JSON."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return f"{text}\n".encode("utf-8", "backslashreplace")


def _translated(translate, lines):
    """(an output line for each line, {row: reason why it is bad})."""
    reasons = {row: reason for row, line in enumerate(lines) if (reason := _reason(line))}
    good = [row for row in range(len(lines)) if row not in reasons]
    outputs = [""] * len(lines)
    for row, text in zip(good, translate([lines[row].decode("utf-8") for row in good])):
        if text is None:
            reasons[row] = (
                "expected at most the model's maximum number of tokens, got more; split it into"
                " sentences"
            )
        else:
            outputs[row] = _BREAK.sub(" ", text)
    return outputs, reasons


def _reason(line):
    """Why a line, bytes, is bad; None: it is good."""
    if len(line) > LONGEST_LINE:
        return f"expected at most {LONGEST_LINE:,} bytes, got more"
    try:
        control = _CONTROL.search(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        return f"expected UTF-8, got byte 0x{line[error.start]:02x} at byte {error.start + 1}"
    return control and (
        f"expected text, got the control character U+{ord(control[0]):04X} at character"
        f" {control.start() + 1}"
    )
