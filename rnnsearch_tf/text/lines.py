"""Lines of plain or .gz text files, one at a time, with errors that name file and line.

A line ends at a line feed, with or without a carriage return before it, and
nowhere else: U+2028, U+0085 and form feeds stay inside their line. A byte-order
mark at the start of a file is not part of its text.
"""

import codecs
import collections.abc
import contextlib
import gzip
import sys
import zlib

from rnnsearch_tf.errors import UsageError, UserError


def read_bytes(path):
    """Yield the lines of a plain or .gz text file as bytes, without their ends; one line in memory at a time.

    Raises:
        UserError: the file is missing, is a folder, cannot be read, or is not whole gzip.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "text")
        >>> _ = path.write_bytes(b"one\\r\\ntwo")
        >>> list(read_bytes(path))
        [b'one', b'two']
    """
    for number, line in enumerate(read_raw(path), start=1):
        if number == 1 and line.startswith(codecs.BOM_UTF8):
            line = line[len(codecs.BOM_UTF8):]
            if not line:  # a file of nothing but the mark
                return
        yield line[:-2] if line.endswith(b"\r\n") else line[:-1] if line.endswith(b"\n") else line


def read_raw(path):
    """Yield the lines of a plain or .gz file as they are, with their ends; errors as for :func:`read_bytes`.

    Args:
        path: a file; None or ``-`` for standard input.
    """
    number = 0
    try:
        with _open(path) as file:
            for number, line in enumerate(file, start=1):
                yield line
    except FileNotFoundError:
        raise UserError(f"{path}: expected a text file, found none; check the path") from None
    except IsADirectoryError:
        raise UserError(f"{path}: expected a text file, found a folder; name the file in it") from None
    except EOFError:
        raise UserError(f"{path}:{number + 1}: expected more gzip data, the file ends early; copy or download it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise UserError(f"{path}:{number + 1}: expected gzip data, got {error}; decompress it or name it without .gz") from None
    except OSError as error:
        raise UserError(f"{path}: expected a readable file, got {error.strerror or error}") from None


def _open(path):
    if path in (None, "-"):
        return contextlib.nullcontext(sys.stdin.buffer)
    return (gzip.open if str(path).endswith(".gz") else open)(path, "rb")


def read_lines(path):
    """As :func:`read_bytes`, as str.

    Raises:
        UserError: as there, and at a line that is not UTF-8.
    """
    for number, line in enumerate(read_bytes(path), start=1):
        yield _decode(line, path, number)


def _decode(line, path, number):
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}:{number}: expected UTF-8, got byte 0x{line[error.start]:02x} at column {error.start + 1}; "
            "convert the file, for example with iconv -f latin1 -t utf-8"
        ) from None


def sentences(texts, name) -> list:
    """Sentences that a caller hands in, as a list; each is a str, or bytes of UTF-8.

    Args:
        texts: iterable of them; one string by itself is a mistake.
        name: what messages call them.

    Raises:
        UsageError: it is something else, or holds something else.
    """
    if isinstance(texts, (str, bytes)) or not isinstance(texts, collections.abc.Iterable):
        raise UsageError(f"{name}: expected a list of sentences, got {type(texts).__name__} {texts!r}; one sentence goes in a list too")
    texts = list(texts)
    for number, text in enumerate(texts):
        if not isinstance(text, (str, bytes)):
            raise UsageError(f"{name}[{number}]: expected a sentence as str, got {type(text).__name__} {text!r}")
    return texts
