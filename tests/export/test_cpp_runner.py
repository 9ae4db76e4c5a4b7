"""The C++ runner of export/: same answers as a Session in Python, no Python in the process."""

import fcntl
import importlib.util
import pathlib
import shutil
import subprocess
import sys

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
    command = ["make", "-C", str(FOLDER), "check", f"PYTHON={sys.executable}"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("the runner and a Session agree") == 2


@pytest.mark.slow
def test_an_exported_model(runner, check_runner, exported):
    """The real thing: text handling, beam search and unknown words in the runner's process;
    compare() exits where they differ.
    """
    check_runner.compare(runner, exported, "serving_default", "translation")


def test_answers_by_hand_without_python_in_the_process(runner, check_runner, tiny_model):
    """Ids of the words in the tiny model's table, 4 for any other; scores are sums of their
    weights.
    """
    ops = check_runner.text_ops()
    text = "a cat sleeps .\n\ndog cat\n"
    assert run(runner, tiny_model, *ops, text=text).stdout == "0 1 2 3\n\n4 1\n"
    scores = run(runner, tiny_model, "--output", "score", *ops, text=text).stdout.splitlines()
    assert [round(float(score), 5) for score in scores] == [1.0, 0.0, 0.7]
    libraries = subprocess.run(["ldd", str(runner)], capture_output=True, text=True).stdout
    assert "libtensorflow_cc.so.2" in libraries and "libpython" not in libraries


def test_exit_codes(runner, tiny_model):
    for words in ((), (tiny_model, "--beam", "3"), (tiny_model, "--output", "none"), ("nowhere",)):
        result = run(runner, *words)
        assert result.returncode == 1 and "runner: error: " in result.stderr, words
