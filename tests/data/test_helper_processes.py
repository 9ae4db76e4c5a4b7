"""Helper processes: what they meet is what this process raises."""

import subprocess

import pytest

from rnnsearch_tf.runtime.processes import Processes, module_command
from rnnsearch_tf.errors import UsageError, UserError

WRONG_USAGE = (
    "rnnsearch_tf.config:check_value",
    {"name": "search.beam_size", "value": 0, "where": "--beam-size"},
    UsageError,
    "--beam-size: expected at least 1",
)
FAILURE = (
    "rnnsearch_tf.files.reading:check_inputs",
    {"names": ["/no/such"]},
    UserError,
    "/no/such: expected a text file, found none",
)


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize(
    "function, request_, kind, message", [WRONG_USAGE, FAILURE], ids=["usage", "failure"]
)
def test_an_error_has_the_exit_code_that_it_has_in_one_process(
    number, function, request_, kind, message
):
    with Processes(number) as processes, pytest.raises(UserError, match=message) as raised:
        processes.call(function, [request_, request_], "checking")
    assert type(raised.value) is kind


@pytest.fixture
def shadows(tmp_path, monkeypatch):
    """The current folder, with files that are named like modules of Python."""
    for name in ("queue.py", "argparse.py"):
        (tmp_path / name).write_text("raise SystemExit('not the one of Python')\n")
    monkeypatch.chdir(tmp_path)


def test_a_file_of_the_current_folder_is_no_module_of_a_helper(shadows):
    function, request_, kind, message = FAILURE
    with Processes(2) as processes, pytest.raises(kind, match=message):
        processes.call(function, [request_, request_], "checking")


def test_nor_of_a_module_in_a_process_of_its_own(shadows):
    done = subprocess.run(
        module_command("rnnsearch_tf", "help", "no-such-verb"), capture_output=True, text=True
    )
    assert done.returncode == 2 and "no-such-verb" in done.stderr, done.stderr
