"""The project keeps a size that a person can hold."""

import pathlib
import subprocess

import pytest
from rnnsearch_tf.config import option_fields

ROOT = pathlib.Path(__file__).parents[2]


def lines(*folders):
    return sum(
        len(path.read_text(encoding="utf-8").splitlines())
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
    )


def test_lines_of_code():
    assert lines("rnnsearch_tf") <= 16_000
    assert lines("tests", "runtime/tests") <= 18_000
    assert lines("papers", "benchmarks") <= 5_000


def test_options():
    names = {name.replace("target.", "source.") for name, _ in option_fields()}
    assert len(names) <= 70, sorted(names)


def test_tracked_files():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    assert len(listed.stdout.splitlines()) <= 600
