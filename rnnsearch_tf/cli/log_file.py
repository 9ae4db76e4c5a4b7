"""Copy standard error to a log file."""

import re
import time
from typing import Any, TextIO


class LogFile:
    """A stream that passes its text on and also writes it to a file, each line with the time.

    A line that is redrawn, like a progress bar, is written to the file in its last form.

    Args:
        stream: receives the text unchanged.
        file: open text file.
    """

    def __init__(self, stream: TextIO, file: TextIO) -> None:
        self.stream = stream
        self.file = file
        self._line = ""

    def write(self, text: str) -> int:
        self.stream.write(text)
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            self.put(line)
        self._line = _last_form(self._line)
        return len(text)

    def put(self, line: str) -> None:
        """Write one line to the file only."""
        line = _last_form(line).strip()
        if line:
            self.file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}\n")
            self.file.flush()

    def close(self) -> None:
        """Write an unfinished last line; the stream stays open."""
        self.put(self._line)
        self._line = ""

    def __getattr__(self, name: str) -> Any:  # flush, isatty, fileno, encoding, ...
        return getattr(self.stream, name)


def _last_form(line):
    """A line as a terminal finally shows it, without colours."""
    line = line.rstrip("\r").rpartition("\r")[2]
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", line)
