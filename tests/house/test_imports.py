"""Imports go one way, and the search knows no model."""

import ast
import pathlib
import subprocess
import sys

PACKAGE = pathlib.Path(__file__).parents[2] / "rnnsearch_tf"

LEVELS = [
    ["errors"],
    ["files", "runtime"],
    ["config"],
    ["runs"],
    ["text", "layers"],
    ["search", "alignment"],
    ["data", "evaluation"],
    ["models"],
    ["translation"],
    ["export"],
    ["training"],
    ["extras"],
    ["cli"],
]
"""Subpackages; each may import those of the levels before it."""

LEVEL_OF = {name: level for level, names in enumerate(LEVELS) for name in names}


def imported_subpackages(path):
    """Subpackages of rnnsearch_tf that a file imports, at its top or inside a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: expected no relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            if name.startswith("rnnsearch_tf.") and name != "rnnsearch_tf.__version__":
                yield name.split(".")[1]


def test_imports_go_one_way():
    for path in PACKAGE.rglob("*.py"):
        importing = path.relative_to(PACKAGE).with_suffix("").parts[0]
        if importing == "__init__" or path.stem == "__main__":
            continue
        for imported in imported_subpackages(path):
            assert imported == importing or LEVEL_OF[imported] < LEVEL_OF[importing], (
                f"{path}: {importing} imports {imported}, which is not below it"
            )


def test_search_knows_no_model():
    """Nor a layer, which the order of subpackages would allow."""
    for path in (PACKAGE / "search").rglob("*.py"):
        assert not {"models", "layers", "data"} & set(imported_subpackages(path))


def test_another_backend_is_one_clear_error():
    code = "import os; os.environ['KERAS_BACKEND'] = 'numpy'; import rnnsearch_tf.runtime.backend"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = result.stderr.strip().splitlines()[-1]
    assert "expected Keras on its TensorFlow backend, got 'numpy'" in last
    assert "KERAS_BACKEND=tensorflow" in last
