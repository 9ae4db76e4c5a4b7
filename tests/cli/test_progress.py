"""What a person sees while it works: a bar on a terminal, lines in a log, a file that keeps all of
it.
"""

import fcntl
import logging
import os
import pty
import re
import struct
import sys
import termios
import threading
import types

import pytest

from rnnsearch_tf.cli.main import VERBS, run
from rnnsearch_tf.errors import PeerLost, Terminated, UserError
from rnnsearch_tf.runtime.progress import announced, duration, progress


@pytest.fixture
def verb(monkeypatch):
    """Sets what the verb ``work`` does."""

    def set_work(function):
        module = types.SimpleNamespace(
            __doc__="Works.", arguments=lambda parser: None, run=function
        )
        monkeypatch.setitem(VERBS, "work", "works")
        monkeypatch.setitem(sys.modules, "rnnsearch_tf.cli.work", module)

    return set_work


@pytest.fixture
def terminal(monkeypatch):
    """Runs a command with standard error as a terminal of 80 columns: (exit code, what the terminal
    shows).
    """
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def command(*words):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
        with os.fdopen(theirs, "w", encoding="utf-8") as stream, monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", stream)
            code = run(list(words))
            text = b""
            stream.write("\0")
            stream.flush()
            while not text.endswith(b"\0"):
                text += os.read(ours, 4096)
        os.close(ours)
        return code, text[:-1].decode("utf-8")

    return command


def no_waiting(monkeypatch):
    """Shows everything at once, not after seconds."""
    for name in ("SECONDS_OF_SILENCE", "SECONDS_BETWEEN_LINES"):
        monkeypatch.setattr(f"rnnsearch_tf.runtime.progress.{name}", 1e-9)


def count_to_four(_):
    for _ in progress(range(4), doing="counting", total=4, unit="numbers"):
        pass


def test_a_terminal_shows_share_and_rate(verb, terminal, monkeypatch):
    no_waiting(monkeypatch)
    verb(count_to_four)
    code, shown = terminal("work")
    assert code == 0 and re.search(r"counting: 100%\|.*4/4 \[.*numbers/s", shown)


def test_a_log_has_lines_and_a_python_caller_nothing(verb, capsys, monkeypatch):
    no_waiting(monkeypatch)
    verb(count_to_four)
    assert run(["work"]) == 0
    error = capsys.readouterr().err
    assert error.endswith("\n") and "\r" not in error and "4/4" in error.splitlines()[-1]
    assert error.count("4/4") == 1, "tqdm shows it again at its end"
    logging.getLogger("rnnsearch_tf.runtime.progress").setLevel(logging.NOTSET)
    count_to_four(None)
    assert capsys.readouterr().err == ""


def test_what_is_quick_shows_nothing(verb, terminal):
    verb(count_to_four)
    assert terminal("work") == (0, "")


def test_quiet_shows_no_bar(verb, terminal, monkeypatch):
    no_waiting(monkeypatch)
    verb(count_to_four)
    assert terminal("work", "--quiet") == (0, "")


def test_what_cannot_be_counted_is_said(verb, terminal, monkeypatch):
    no_waiting(monkeypatch)
    verb(lambda _: wait_in("thinking", threading.Event()))
    assert terminal("work") == (0, "thinking …\r\n")


def test_a_log_does_not_say_what_takes_less_than_a_minute(verb, capsys, terminal, monkeypatch):
    """A terminal does after two seconds, here after none."""
    monkeypatch.setattr("rnnsearch_tf.runtime.progress.SECONDS_OF_SILENCE", 1e-9)
    verb(lambda _: wait_in("thinking", threading.Event()))
    assert run(["work"]) == 0 and capsys.readouterr().err == ""


def test_what_has_ended_is_not_said_later(verb, capsys, monkeypatch):
    monkeypatch.setattr("rnnsearch_tf.runtime.progress.SECONDS_BETWEEN_LINES", 0.2)

    def work(_):
        with announced("thinking"):
            pass
        threading.Event().wait(0.5)

    verb(work)
    assert run(["work"]) == 0 and capsys.readouterr().err == ""


def wait_in(doing, event):
    with announced(doing):
        event.wait(0.5)


def test_errors_are_red_where_a_terminal_has_colours(verb, terminal, monkeypatch):
    def fail(_):
        raise UserError("it failed")

    verb(fail)
    assert terminal("work") == (1, "rnnsearch: \x1b[31merror:\x1b[0m it failed\r\n")
    for variable, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with monkeypatch.context() as changed:
            changed.setenv(variable, value)
            assert terminal("work") == (1, "rnnsearch: error: it failed\r\n")


def test_a_log_file_has_everything_with_its_time(verb, terminal, tmp_path):
    def work(_):
        sys.stderr.write("half a ")
        sys.stderr.write("line\nbar 1\rbar 2\r\x1b[Kbar 3\n")
        logging.getLogger("rnnsearch_tf").warning("mind this")
        print("result")
        raise UserError("it failed")

    verb(work)
    path = tmp_path / "log"
    path.write_text("before\n")
    (_, loud_shown), (_, quiet_shown) = (
        terminal("work", *words, "--log-file", str(path)) for words in ([], ["--quiet"])
    )
    before, *lines = path.read_text().splitlines()
    assert before == "before"
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ", line) for line in lines)
    loud = [line[20:] for line in lines[:4]]
    quiet = [line[20:] for line in lines[4:]]
    assert loud == ["half a line", "bar 3", "mind this", "error: it failed"]
    assert quiet == ["half a line", "bar 3", "error: it failed"]
    assert all(text in loud_shown for text in ("half a line", "bar 1", "mind this", "it failed"))
    assert quiet_shown.count("\n") == 1 and "it failed" in quiet_shown


@pytest.mark.parametrize(
    "stop, code, line",
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (Terminated(), 75, "stopped by SIGTERM; what is saved can be resumed"),
        (PeerLost("a lost worker"), 75, "stopped by a lost worker; what is saved can be resumed"),
    ],
)
def test_a_log_file_ends_with_what_stopped_the_command(verb, tmp_path, capsys, stop, code, line):
    def work(_):
        raise stop

    verb(work)
    assert run(["work", "--log-file", str(tmp_path / "log")]) == code
    assert (tmp_path / "log").read_text()[20:] == f"{line}\n"
    assert capsys.readouterr().err == f"rnnsearch: {line}\n"


def test_a_log_file_that_cannot_be_written_is_an_error(verb, capsys, tmp_path):
    verb(lambda _: None)
    assert run(["work", "--log-file", str(tmp_path / "none" / "log")]) == 1
    assert (
        "expected a file that can be written, got: No such file or directory"
        in capsys.readouterr().err
    )


def test_a_log_file_is_none_that_the_verb_reads_or_writes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_text("text\n")
    assert run(["aer", "--log-file", str(tmp_path / "a"), "gold", "a"]) == 2
    assert (
        "--log-file: expected a file of its own, got a, which hypothesis names too; name another"
        in capsys.readouterr().err
    )
    assert (tmp_path / "a").read_text() == "text\n"


@pytest.mark.parametrize(
    "seconds, text",
    [(0.4, "0 s"), (89, "89 s"), (90, "2 min"), (5399, "1 h 30 min"), (7260, "2 h 1 min")],
)
def test_duration(seconds, text):
    assert duration(seconds) == text
