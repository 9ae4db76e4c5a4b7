"""Imports go one way, and the light modules stay light."""

import ast
import pathlib
import subprocess
import sys

PACKAGE = pathlib.Path(__file__).parents[2] / "rnnsearch_tf"

LEVELS = [
    ["errors"],
    ["files", "runtime"],
    ["config"],
    ["runs", "distributed"],
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
"""Rooms of the package; a room may import those of the levels before it."""

LEVEL_OF = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
CORE = LEVELS[: LEVELS.index(["extras"])]
MOST_ARROWS = 99
MOST_LINES = 590
"""Of a file, comments and docstrings included: is it still one thing?"""

# those are commands
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__main__.py")


def module_of(path):
    """Dotted name of a file below the package; that of a package for its ``__init__.py``."""
    return (
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        .removesuffix("__init__")
        .rstrip(".")
    )


MODULES = {module_of(path): path for path in FILES}


def imported_modules(path):
    """Modules of the package that a file imports, at its top or inside a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        assert not getattr(node, "level", 0), f"{path}: expected no relative import"
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [
                (
                    f"{node.module}.{alias.name}"
                    if f"{node.module}.{alias.name}".removeprefix("rnnsearch_tf.") in MODULES
                    else node.module
                )
                for alias in node.names
            ]
        for name in names:
            if name.startswith("rnnsearch_tf."):
                yield name.removeprefix("rnnsearch_tf.")


def find_circle(imports):
    """A path of modules that ends where it began, or None; `imports` is {module: modules it
    imports}.
    """
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
    circle = find_circle(
        {module: set(imported_modules(path)) for module, path in MODULES.items() if module}
    )
    assert circle is None, " imports ".join(circle)


def test_a_circle_is_found():
    assert find_circle({"a": {"b"}, "b": {"c"}, "c": {"d", "b"}, "d": set()}) == ["b", "c", "b"]
    assert find_circle({"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": set()}) is None


def room(path_or_module):
    return str(path_or_module).replace("/", ".").split(".")[0]


def imported_rooms(path):
    return (room(module) for module in imported_modules(path))


def room_arrows():
    """(importing room, imported room, where) of every import from one room of another."""
    for path in FILES:
        own = room(path.relative_to(PACKAGE).with_suffix(""))
        if own == "__init__":
            continue
        for other in imported_rooms(path):
            if other != own:
                yield own, other, path.relative_to(PACKAGE)


def test_imports_go_one_way():
    wrong = [
        f"{path}: {own} imports {other}, which is not below it"
        for own, other, path in room_arrows()
        if LEVEL_OF[other] >= LEVEL_OF[own]
    ]
    assert not wrong, "\n".join(wrong)


def test_every_room_has_its_level():
    rooms = {room(path.relative_to(PACKAGE).with_suffix("")) for path in FILES} - {"__init__"}
    assert rooms == LEVEL_OF.keys()


def test_rooms_are_loosely_coupled():
    arrows = {(own, other) for own, other, _ in room_arrows()}
    assert len(arrows) <= MOST_ARROWS, sorted(arrows)


def test_every_room_says_what_it_may_import_and_imports_no_more():
    for level in LEVELS[1:]:
        for name in level:
            docstring = ast.get_docstring(
                ast.parse((PACKAGE / name / "__init__.py").read_text(encoding="utf-8"))
            )
            said = (
                " ".join(docstring.split())
                .rpartition("May import ")[2]
                .removesuffix(".")
                .replace(" and ", ", ")
                .split(", ")
            )
            if said == ["the core"]:
                said = [room for rooms in CORE for room in rooms]
            elif said == ["every other room"]:
                said = LEVEL_OF.keys()
            unsaid = {other for own, other, _ in room_arrows() if own == name} - {*said}
            assert not unsaid, f"{name}/__init__.py does not name {unsaid}"


def test_files_stay_short():
    long = {str(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert not {name: lines for name, lines in long.items() if lines > MOST_LINES}


def test_the_names_of_a_runs_files_stand_in_one_place():
    names = {
        "config.yaml",
        "best",
        "evaluated",
        "checkpoints",
        "state.json",
        "metrics.jsonl",
        "SHA256SUMS",
        "model.weights.h5",
    }
    for path in FILES:
        constants = (
            node.value
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Constant)
        )
        assert module_of(path) == "runs.folder" or not names & {
            value for value in constants if isinstance(value, str)
        }, path


def test_search_knows_no_model():
    """Nor a layer, which the order of rooms would allow."""
    for path in (PACKAGE / "search").rglob("*.py"):
        assert not {"models", "layers", "data"} & set(imported_rooms(path))


def test_another_backend_is_one_clear_error():
    code = "import os; os.environ['KERAS_BACKEND'] = 'numpy'; import rnnsearch_tf.runtime.backend"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = result.stderr.strip().splitlines()[-1]
    assert "expected Keras on its TensorFlow backend, got 'numpy'" in last
    assert "KERAS_BACKEND=tensorflow" in last
