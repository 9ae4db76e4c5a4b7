"""The C++ runner of export/: same answers as a Session in Python, no Python in the process."""

import fcntl
import importlib.util
import pathlib
import shutil
import stat
import subprocess
import sys
import threading

import pytest

FOLDER = pathlib.Path(__file__).parents[2] / "export"
RUNNER = FOLDER / "build" / "runner"

pytestmark = pytest.mark.skipif(
    not (shutil.which("g++") and shutil.which("make")), reason="needs g++ and make"
)


@pytest.fixture(scope="module")
def check_runner():
    spec = importlib.util.spec_from_file_location("check_runner", FOLDER / "check_runner.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def runner():
    """The compiled runner; one process of the suite compiles, the others wait for it."""
    RUNNER.parent.mkdir(exist_ok=True)
    with open(RUNNER.parent / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(
            ["make", "-C", str(FOLDER), "runner", f"PYTHON={sys.executable}"],
            check=True,
            capture_output=True,
        )
    return RUNNER


@pytest.fixture(scope="module")
def tiny_model(check_runner, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny") / "1"
    check_runner.write_tiny_model(folder)
    return folder


def run(runner, *words, text=""):
    return subprocess.run(
        [str(runner), *map(str, words)], input=text, capture_output=True, text=True, timeout=120
    )


@pytest.mark.slow
def test_make_check(runner):
    result = subprocess.run(
        ["make", "-C", str(FOLDER), "check", f"PYTHON={sys.executable}"],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("the runner and a Session agree") == 2
    assert "startup " in result.stdout and " lines in 3 calls" in result.stdout


@pytest.mark.slow
def test_an_exported_model(runner, check_runner, exported):
    """The real thing: text handling, beam search and unknown words in the runner's process;
    compare() exits where they differ.
    """
    check_runner.compare(runner, exported, "serving_default", "translation")


def test_answers_by_hand(runner, check_runner, tiny_model):
    """Ids of the words in the tiny model's table, 4 for any other; scores are sums of their
    weights.
    """
    ops = check_runner.text_ops()
    text = "a cat sleeps .\n\ndog cat\n"
    assert run(runner, tiny_model, *ops, text=text).stdout == "0 1 2 3\n\n4 1\n"
    scores = run(runner, tiny_model, "--output", "score", *ops, text=text).stdout.splitlines()
    assert [round(float(score), 5) for score in scores] == [1.0, 0.0, 0.7]


def test_no_python_in_the_process_and_answers_while_input_is_open(runner, check_runner, tiny_model):
    command = [str(runner), str(tiny_model), "--batch-size", "1", *check_runner.text_ops()]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        # an answer that never comes is a failure, not a wait for ever
        watchdog = threading.Timer(60, process.kill)
        watchdog.start()
        process.stdin.write("a\n")
        process.stdin.flush()
        assert process.stdout.readline() == "0\n"
        libraries = {
            line.split("/")[-1].strip()
            for line in pathlib.Path(f"/proc/{process.pid}/maps").read_text().splitlines()
        }
        watchdog.cancel()
        process.stdin.close()
        assert process.wait(timeout=60) == 0
    assert "libtensorflow_cc.so.2" in libraries
    assert not [name for name in libraries if "python" in name.lower() or "pywrap" in name]


@pytest.mark.parametrize(
    "words, code, message",
    [
        ((), 2, "expected one SavedModel, got none"),
        (("MODEL", "--beam", "3"), 2, "unknown option --beam"),
        (("MODEL", "other"), 2, "expected one SavedModel, got also 'other'"),
        (("MODEL", "--batch-size"), 2, "--batch-size: expected a value after it, got none"),
        (
            ("MODEL", "--batch-size", "0"),
            2,
            "--batch-size: expected a whole number from 1 to 999999, got '0'",
        ),
        (("MODEL", "--signature", "score"), 2, "--signature: no 'score' in"),
        (
            ("MODEL", "--output", "text"),
            2,
            "--output: no 'text' in signature 'serving_default', only score, translation",
        ),
        (("MODEL", "--ops", "nowhere.so"), 1, "--ops nowhere.so: "),
        (("nowhere",), 1, "nowhere: Could not find SavedModel"),
    ],
    ids=lambda value: "-".join(value) or "nothing" if isinstance(value, tuple) else "",
)
def test_errors_name_what_came_and_what_would_do(
    runner, check_runner, tiny_model, words, code, message
):
    words = [tiny_model if word == "MODEL" else word for word in words]
    result = run(runner, *(check_runner.text_ops() if words else ()), *words)
    assert result.returncode == code and result.stdout == ""
    assert f"runner: error: {message}" in result.stderr


def test_the_comparison_sees_a_wrong_answer(check_runner, tiny_model, tmp_path):
    """A runner that echoes its input is not taken for a good one."""
    fake = tmp_path / "runner"
    fake.write_text("#!/bin/sh\ncat\necho startup >&2\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    with pytest.raises(SystemExit, match="for the line .* the runner says .* a Session says"):
        check_runner.compare(fake, tiny_model, "serving_default", "translation")
