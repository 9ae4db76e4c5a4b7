"""Lines of a plain or .gz text file, one at a time, with errors that name file and line."""

import codecs
import gzip
import zlib

from rnnsearch_tf.errors import UserError


def read_lines(path):
    """Yield the lines of a UTF-8 file, without their ends; memory does not grow with the file.

    Args:
        path: plain text, or gzip when the name ends in ``.gz``.

    Raises:
        UserError: no such file, not readable, not gzip, or a line that is not UTF-8.
    """
    number = 0
    try:
        with (gzip.open if str(path).endswith(".gz") else open)(path, "rb") as file:
            for number, line in enumerate(file, start=1):
                line = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
                yield _decode(line.rstrip(b"\r\n"), path, number)
    except FileNotFoundError:
        raise UserError(f"{path}: expected a text file, found none; check the path") from None
    except (OSError, EOFError, zlib.error) as error:
        place = f"{path}:{number + 1}" if number else str(path)
        problem = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UserError(f"{place}: expected a readable file, got: {problem}; check or copy the file again") from None


def _decode(line, path, number):
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}:{number}: expected UTF-8, got byte 0x{line[error.start]:02x} at column {error.start + 1}; "
            "convert the file, for example with iconv -f latin1 -t utf-8"
        ) from None
