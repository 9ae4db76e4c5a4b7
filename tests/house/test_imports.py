"""Imports go one way, and the light modules stay light."""

import ast
import pathlib
import subprocess
import sys

import pytest

PACKAGE = pathlib.Path(__file__).parents[2] / "rnnsearch_tf"
ORDER = ["io", "text", "data", "layers", "models", "search", "translation", "evaluation", "training", "smt", "export", "bulk", "hub", "serving", "reproduce", "cli"]
"""A room may import those before it."""

FOUNDATION = {"config", "options", "option", "model_options", "yaml_files", "effects", "training_text", "presets", "errors", "extras", "files", "untrusted", "progress", "eight_bit", "pretrained", "backend", "run", "configs", "parallel", "cluster", "workers", "imports"}
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__main__.py")  # those are commands


def module_of(path):
    """Dotted name of a file below the package; that of a package for its ``__init__.py``."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix("__init__").rstrip(".")


MODULES = {module_of(path): path for path in FILES}


def imported_modules(path):
    """Modules of the package that a file imports, at its top or inside a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" if f"{node.module}.{alias.name}".removeprefix("rnnsearch_tf.") in MODULES else node.module
                     for alias in node.names]
        for name in names:
            if name.startswith("rnnsearch_tf."):
                yield name.removeprefix("rnnsearch_tf.")


def find_circle(imports):
    """A path of modules that ends where it began, or None; `imports` is {module: modules it imports}."""
    finished = set()

    def search(module, path):
        if module in path:
            return [*path[path.index(module) :], module]
        if module in finished:
            return None
        for other in sorted(imports.get(module, ())):
            if circle := search(other, [*path, module]):
                return circle
        finished.add(module)
        return None

    return next((circle for module in sorted(imports) if (circle := search(module, []))), None)


def test_no_module_imports_itself_by_way_of_others():
    circle = find_circle({module: set(imported_modules(path)) for module, path in MODULES.items() if module})
    assert circle is None, " imports ".join(circle)


def test_a_circle_is_found():
    assert find_circle({"a": {"b"}, "b": {"c"}, "c": {"d", "b"}, "d": set()}) == ["b", "c", "b"]
    assert find_circle({"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": set()}) is None


def room(path_or_module):
    return str(path_or_module).replace("/", ".").split(".")[0]


def imported_rooms(path):
    return (room(module) for module in imported_modules(path))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_one_way(path):
    own = room(path.relative_to(PACKAGE).with_suffix(""))
    for other in imported_rooms(path):
        if other in FOUNDATION or other == own:
            continue
        assert own not in FOUNDATION, f"{own} is a foundation and imports {other}"
        if own in ("__main__", "__init__"):
            continue
        assert ORDER.index(other) < ORDER.index(own), f"{path.name}: {own} imports {other}, which comes after it"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_files_stay_short(path):
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= 420, f"{path.name} has {lines} lines: is it still one thing?"


def test_the_names_of_a_runs_files_stand_in_one_place():
    names = {"config.yaml", "best", "evaluated", "checkpoints", "state.json", "metrics.jsonl", "SHA256SUMS", "model.weights.h5"}
    for path in FILES:
        constants = (node.value for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Constant))
        assert module_of(path) == "run" or not names & {value for value in constants if isinstance(value, str)}, path


def test_search_knows_no_model():
    for path in (PACKAGE / "search").glob("*.py"):
        assert not {"models", "layers", "data"} & set(imported_rooms(path))


def test_another_backend_is_one_clear_error():
    code = "import os; os.environ['KERAS_BACKEND'] = 'numpy'; import rnnsearch_tf.backend"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = result.stderr.strip().splitlines()[-1]
    assert "expected Keras on its TensorFlow backend, got 'numpy'" in last
    assert "KERAS_BACKEND=tensorflow" in last
