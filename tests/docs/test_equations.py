"""The table of equations names code and tests that are there."""

import ast
import re

import pytest
from documents import ROOT, read

ROW = re.compile(
    r"^\| ([^|]+) \| ([^|]+) \| `([\w/]+\.py)`: `([\w.]+)` \| `([\w/]+\.py)`: `(\w+)` \|$",
    re.MULTILINE,
)
ROWS = ROW.findall(read("docs/equations.md"))


def defined(path):
    """Names of the functions and classes of a file, and Class.method."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {
                f"{node.name}.{member.name}"
                for member in node.body
                if isinstance(member, ast.FunctionDef)
            }
    return names


@pytest.mark.parametrize("folder, columns", [("rnnsearch_tf", (2, 3)), ("tests", (4, 5))])
def test_code_and_tests_are_there(folder, columns):
    for row in ROWS:
        path, name = (row[column] for column in columns)
        assert (ROOT / folder / path).exists(), path
        assert name in defined(ROOT / folder / path), f"{path}: {name}"


def test_every_row_is_read_and_every_layer_stands_in_one():
    rows = [
        line
        for line in read("docs/equations.md").splitlines()
        if line.startswith("| ") and not line.startswith("| paper")
    ]
    assert len(ROWS) == len(rows) > 40
    named = {row[2] for row in ROWS}
    with_equations = {
        path
        for path in (ROOT / "rnnsearch_tf" / "layers").rglob("*.py")
        if " = " in (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "")
    }
    assert {path.relative_to(ROOT / "rnnsearch_tf").as_posix() for path in with_equations} <= named
