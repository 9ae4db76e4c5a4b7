"""A bar for whoever looks at a terminal, and nothing in a log."""

import io
import sys

from rnnsearch_tf.runtime.progress import duration, progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_shows_the_share_and_a_log_nothing(monkeypatch):
    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        assert list(progress(range(4), doing="counting", total=4, unit="numbers")) == [0, 1, 2, 3]
        assert ("counting: 100%" in stream.getvalue()) == shown
        assert bool(stream.getvalue()) == shown


def test_duration():
    assert duration(89) == "89 s" and duration(5400) == "1 h 30 min"
