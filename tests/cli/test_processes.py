"""A real process with a model: lines through a pipe."""

import os
import subprocess
import sys
import threading


RNNSEARCH = [sys.executable, "-m", "rnnsearch_tf"]
# pytest's own has it
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}


def test_a_finished_line_in_is_a_finished_line_out(run_folder):
    """One line at a time through a pipe that stays open."""
    pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with subprocess.Popen(
        [*RNNSEARCH, "translate", "--model", run_folder], env=ENVIRONMENT, **pipes
    ) as process:
        watchdog = threading.Timer(200, process.kill)  # whoever waits for more input waits for ever
        watchdog.start()
        answers = []
        for line in (b"The door is white.\n", b"\n", b"caf\xc3\xa9 x\n"):
            process.stdin.write(line)
            process.stdin.flush()
            answers.append(process.stdout.readline())
        # a last line without its newline
        rest, errors = process.communicate(b"She goes.", timeout=200)
        watchdog.cancel()
    assert process.returncode == 0
    assert all(line.endswith(b"\n") for line in answers)
    assert [bool(line.strip()) for line in answers] == [True, False, True]
    assert rest.endswith(b"\n") and rest.count(b"\n") == 1 and rest.strip()
    assert errors == b""
