"""One file of a corpus: exactly one line out for each line in, and a record of each line that could
not be translated.
"""

from __future__ import annotations

import contextlib
import json
import os
import re

from rnnsearch_tf.files.atomic import cannot_write
from rnnsearch_tf.files.reading import LONGEST_LINE, raw_batches
from rnnsearch_tf.files.writing import whole_file

WINDOW = 4096
"""Lines among which sentences of like length are put together; memory holds no more than them."""

_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f]")  # those that are no white space
_BREAK = re.compile("[\r\n]")


def translate_shard(translate, source, output, bad, window=WINDOW) -> None:
    """Translate a file.

    A bad line, which is no text or is too long, has an empty line in the output and a record in a
    file of its own: ``{"file": …, "line": number from 1, "reason": …}``. That file is there only if
    there are any. The output appears last, and whole.

    Args:
        translate: function of texts to translations, see
            :func:`~rnnsearch_tf.extras.bulk.engine.load_engine`.
        source, output, bad: paths, ``.gz`` by name.
        window: lines that are read at once.

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
                if reasons and records is None:
                    records = stack.enter_context(whole_file(bad))
                for row, reason in sorted(reasons.items()):
                    record = {"file": os.fspath(source), "line": number + row + 1, "reason": reason}
                    records.write((json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8"))
                number += len(lines)
    except OSError as error:
        raise cannot_write(output, error) from None


def _translated(translate, lines):
    """(a line of output for each line, {row: what is wrong with it})."""
    reasons = {row: reason for row, line in enumerate(lines) if (reason := _reason(line))}
    good = [row for row in range(len(lines)) if row not in reasons]
    outputs = [""] * len(lines)
    for row, text in zip(good, translate([lines[row].decode("utf-8") for row in good])):
        if text is None:
            reasons[row] = (
                "expected no more tokens than the model takes, got more; break it into sentences"
            )
        else:
            outputs[row] = _BREAK.sub(" ", text)
    return outputs, reasons


def _reason(line):
    """What is wrong with a line, bytes; None: nothing."""
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
