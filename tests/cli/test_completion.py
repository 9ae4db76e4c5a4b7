"""What the shell is answered when somebody presses tab."""

import os
import shutil
import subprocess
import sys

import pytest

PROGRAM = os.path.join(os.path.dirname(sys.executable), "rnnsearch")
pytestmark = pytest.mark.skipif(
    not os.path.exists(PROGRAM), reason="rnnsearch is not installed beside this Python"
)


def completed(line, folder=None):
    """The words offered at the end of a line, as bash would ask for them."""
    asked = {
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "COMP_TYPE": "9",
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_SHELL": "bash",
        "PROGRAM": PROGRAM,
    }
    script = '"$PROGRAM" 8>&1 9>/dev/null 1>/dev/null 2>&1'
    done = subprocess.run(
        ["bash", "-c", script],
        env=os.environ | asked,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    "line, expected",
    [
        ("rnnsearch tra", ["train", "translate", "translate-corpus"]),
        ("rnnsearch train --res", ["--resume"]),
        ("rnnsearch train --config phrasebook-l", ["phrasebook-lstm", "phrasebook-luong"]),
        ("rnnsearch train --set search.beam", ["search.beam_size="]),
        ("rnnsearch translate --combine p", ["probabilities"]),
        ("rnnsearch serve --rest_api_p", ["--rest_api_port"]),
    ],
)
def test_tab_completes(line, expected):
    assert completed(line) == expected


def test_tab_completes_file_names(tmp_path):
    (tmp_path / "mine.yaml").touch()
    (tmp_path / "mine.txt").touch()
    assert completed("rnnsearch train --config mi", tmp_path) == ["mine.yaml"]
    assert completed("rnnsearch evaluate --source mine.t", tmp_path) == ["mine.txt"]


@pytest.mark.parametrize(
    "shell, shown",
    [("bash", "complete -p rnnsearch"), ("zsh", "true"), ("fish", "complete -C 'rnnsearch tran'")],
)
def test_the_script_loads(shell, shown):
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    script = subprocess.run(
        [PROGRAM, "completion", shell], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    before = "autoload -U compinit; compinit -u\n" if shell == "zsh" else ""
    done = subprocess.run(
        [shell, "-c", f"{before}{script}\n{shown}"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
