"""Standard error, written to a file too."""

import re
import time


class LogFile:
    """A stream that passes on what is written to it and writes its lines, each with the time, to a
    file.

    Of a line that is drawn again and again, as a progress bar is, the file has the last form.

    Args:
        stream: where the text goes as it is.
        file: open text file.
    """

    def __init__(self, stream, file):
        self.stream = stream
        self.file = file
        self._line = ""

    def write(self, text):
        self.stream.write(text)
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            self.put(line)
        self._line = _last_form(self._line)
        return len(text)

    def put(self, line):
        """Write one line to the file alone."""
        line = _last_form(line).strip()
        if line:
            self.file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}\n")
            self.file.flush()

    def close(self):
        """Write what has no line break yet; the stream stays open."""
        self.put(self._line)
        self._line = ""

    def __getattr__(self, name):  # flush, isatty, fileno, encoding, ...
        return getattr(self.stream, name)


def _last_form(line):
    """A line without what a terminal does not show any more, and without its colours."""
    line = line.rstrip("\r").rpartition("\r")[2]
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", line)
