"""Imports go one way, and the light modules stay light."""

import ast
import pathlib
import subprocess
import sys

import pytest

PACKAGE = pathlib.Path(__file__).parents[2] / "rnnsearch_tf"
ORDER = ["text", "data", "layers", "models", "search", "translation", "evaluation", "training", "smt", "export", "serving", "cli"]
"""A room may import those before it."""

FOUNDATION = {"config", "options", "presets", "errors", "backend", "run_folder", "configs", "parallel", "hoisting", "registration"}
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__main__.py")  # those are commands


def room(path_or_module):
    return str(path_or_module).replace("/", ".").split(".")[0]


def imported_rooms(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "rnnsearch_tf":
                names = [f"rnnsearch_tf.{alias.name}" for alias in node.names]
        for name in names:
            if name.startswith("rnnsearch_tf."):
                yield name.split(".")[1]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_one_way(path):
    own = room(path.relative_to(PACKAGE).with_suffix(""))
    for other in imported_rooms(path):
        if other in FOUNDATION or other == own or other == "__version__":
            continue
        assert own not in FOUNDATION, f"{own} is a foundation and imports {other}"
        if own in ("__main__", "__init__"):
            continue
        assert ORDER.index(other) < ORDER.index(own), f"{path.name}: {own} imports {other}, which comes after it"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_files_stay_short(path):
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= 420, f"{path.name} has {lines} lines: is it still one thing?"


def test_search_knows_no_model():
    for path in (PACKAGE / "search").glob("*.py"):
        assert not {"models", "layers", "data"} & set(imported_rooms(path))


def test_another_backend_is_one_clear_error():
    code = "import os; os.environ['KERAS_BACKEND'] = 'numpy'; import rnnsearch_tf.backend"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = result.stderr.strip().splitlines()[-1]
    assert "expected Keras on its TensorFlow backend, got 'numpy'" in last
    assert "KERAS_BACKEND=tensorflow" in last
