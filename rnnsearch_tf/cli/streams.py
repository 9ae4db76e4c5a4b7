"""Handle standard streams that are closed, on a full disk, or a pipe without a reader."""

from __future__ import annotations

import contextlib
import os
import sys

from rnnsearch_tf.files.atomic import cannot_write

_STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))  # descriptors 0, 1 and 2


def open_closed_streams() -> None:
    """Replace each standard stream that was closed when Python started by os.devnull.

    This also occupies the stream's descriptor. Otherwise the next file to be opened would get it,
    and would contain what C++ libraries write to standard error.
    """
    for number, (name, mode) in enumerate(_STREAMS):
        if getattr(sys, name) is not None:
            continue
        descriptor = os.open(os.devnull, os.O_RDWR)  # the lowest free one
        if descriptor == number:
            os.set_inheritable(descriptor, True)  # child processes have the same problem
        setattr(sys, name, open(descriptor, mode, encoding="utf-8", closefd=False))


def use_utf8() -> None:
    """Write UTF-8 whatever the locale; escape lone surrogates (from undecodable file names)."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", write_through=True)


def flush_output() -> None:
    """Flush the standard streams and drop what cannot be written.

    Python itself flushes only after the exit code is set, and then prints its own errors.

    Raises:
        BrokenPipeError: the reader of standard output is gone.
        UserError: standard output cannot be written for another reason.
    """
    with contextlib.suppress(OSError):
        _flush(sys.stderr)
    try:
        _flush(sys.stdout)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise cannot_write("standard output", error) from None


def _flush(stream):
    try:
        stream.flush()
    except OSError:
        # suppressed: the stream may have no descriptor
        with contextlib.suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), stream.fileno())
        raise
