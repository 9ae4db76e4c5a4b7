"""Standard streams as they come: closed, on a full disk, or a pipe whose reader has gone."""

from __future__ import annotations

import contextlib
import os
import sys

from rnnsearch_tf.files.atomic import cannot_write

_STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))  # descriptors 0, 1 and 2


def open_closed_streams() -> None:
    """Put os.devnull in the place of each standard stream that was closed when Python started.

    Its descriptor is taken first. Otherwise the next file to be opened would get it, and would have
    in it what a C++ library writes to standard error.
    """
    for number, (name, mode) in enumerate(_STREAMS):
        if getattr(sys, name) is not None:
            continue
        descriptor = os.open(os.devnull, os.O_RDWR)  # the lowest that is free
        if descriptor == number:
            os.set_inheritable(descriptor, True)  # child processes have the same trouble
        setattr(sys, name, open(descriptor, mode, encoding="utf-8", closefd=False))


def use_utf8() -> None:
    """Text goes in and out as UTF-8 whatever the locale; a lone surrogate (odd file name) does not
    stop it.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", write_through=True)


def flush_output() -> None:
    """Write out what the standard streams still hold. What cannot be written is dropped.

    Python does that by itself only after the exit code is decided, and complains about what it
    meets.

    Raises:
        BrokenPipeError: the reader of standard output has gone.
        UserError: it cannot be written for another reason.
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
        # it may be no file
        with (
            contextlib.suppress(OSError, ValueError),
            open(os.devnull, "wb") as nowhere,
        ):
            os.dup2(nowhere.fileno(), stream.fileno())
        raise
