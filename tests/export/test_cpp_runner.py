"""The C++ runner of export/: same answers as a Session in Python, no Python in the process."""

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


@pytest.mark.slow
def test_make_check(exported):
    """On an export: text handling, beam search and unknown words in the runner's process."""
    command = ["make", "-C", str(FOLDER), "check", f"PYTHON={sys.executable}"]
    command += [f"SAVED_MODEL={exported}"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "the runner and a Session agree" in result.stdout
    libraries = subprocess.run(["ldd", str(RUNNER)], capture_output=True, text=True).stdout
    assert "libtensorflow_cc.so.2" in libraries and "libpython" not in libraries
