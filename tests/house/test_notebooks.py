"""The notebooks: they run, here with small parameters and under ``make test-all`` whole, and are
committed clean.
"""

import ast
import re

import pytest
from test_documents import ROOT

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")

from run_notebooks import METADATA, client, code_cells, read, run_whole  # noqa: E402  it needs both

QUICK = {
    "01-the-main-way": {"UPDATES": 2, "EVERY": 1, "TESTS": 4},
    "02-attention-by-hand": {},
    "03-own-text-in-python": {"PAIRS": 200, "UPDATES": 2},
    "04-why-attention": {"PAIRS": 100, "UPDATES": 2, "TESTS": 1},
    "05-decoding": {"SENTENCES": 2, "BEAMS": [2], "SAMPLES": 2, "MEMBERS": 2, "UPDATES": 2},
}
"""What takes the place of a notebook's parameters, so that all of them together take a minute."""

COMPILED = {"03-own-text-in-python"}
"""It needs compiled functions; the others do a few updates sooner without, since compiling takes
seconds a model.
"""

PATHS = [ROOT / "notebooks" / f"{name}.ipynb" for name in QUICK]
LARGEST = 400_000  # bytes
ABSOLUTE = re.compile(r"(?<![\w.:/])/(?:home|root|tmp|usr|var|opt|work|mnt|Users)/\w|\b[A-Z]:\\\\")

every_notebook = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
SLOW = {"03-own-text-in-python", "04-why-attention", "05-decoding"}


def with_parameters(notebook, values):
    """The notebook with other values in its cell of parameters, the one tagged so."""
    [cell] = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", ())]
    names = {target.id for line in ast.parse(cell.source).body for target in line.targets}
    assert values.keys() <= names, f"expected parameters among {names}, got {values}"
    cell.source += "".join(f"\n{name} = {value!r}" for name, value in values.items())
    return notebook


def kinds_of_output(notebook):
    return {
        kind
        for cell in code_cells(notebook)
        for output in cell.outputs
        for kind in output.get("data", ())
    }


def test_every_notebook_is_tested():
    assert sorted((ROOT / "notebooks").glob("[0-9]*.ipynb")) == PATHS


@pytest.fixture(scope="module")
def kernel():
    """One Python for all of them, so that TensorFlow is imported once."""
    one = client(nbformat.v4.new_notebook(), ROOT / "notebooks", timeout=300)
    with one.setup_kernel():
        yield one


@pytest.mark.parametrize(
    "path",
    [pytest.param(each, marks=[pytest.mark.slow] if each.stem in SLOW else []) for each in PATHS],
    ids=lambda path: path.stem,
)
def test_notebooks_run_with_small_parameters(path, kernel):
    kernel.nb = with_parameters(read(path), QUICK[path.stem])
    before = (
        "%reset -f\nimport tensorflow as"
        f" tf\ntf.config.run_functions_eagerly({path.stem not in COMPILED})"
    )
    kernel.nb.cells.insert(0, nbformat.v4.new_code_cell(before))
    for index, cell in enumerate(kernel.nb.cells):
        kernel.execute_cell(cell, index)  # which passes over text
    assert "image/png" in kinds_of_output(kernel.nb)


@pytest.mark.slow
@every_notebook
def test_notebooks_run_whole(path):
    assert kinds_of_output(run_whole(path)) == kinds_of_output(read(path))


@every_notebook
def test_notebooks_are_committed_as_run_once_from_the_top(path):
    notebook = read(path)
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert "image/png" in kinds_of_output(notebook)
    assert not [
        output
        for cell in cells
        for output in cell.outputs
        if output.output_type == "error" or output.get("name") == "stderr"
    ]
    assert not any("class " in cell.source for cell in cells), (
        "expected a notebook to use the package, not to define classes"
    )


@every_notebook
def test_notebooks_say_nothing_of_the_machine(path):
    notebook = read(path)
    text = path.read_text(encoding="utf-8")
    assert path.stat().st_size < LARGEST
    assert not ABSOLUTE.findall(re.sub(r'"image/png": "[^"]*"', "", text))
    assert not re.search(r"WARNING|0x[0-9a-f]{6}", re.sub(r'"image/png": "[^"]*"', "", text))
    assert notebook.metadata == METADATA
    assert not [cell.metadata for cell in notebook.cells if cell.metadata.keys() - {"tags"}]
