"""The notebooks: they run, with small parameters here and as they are under ``make test-all``, and are committed clean."""

import ast
import re

import pytest
from test_documents import ROOT

nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")

QUICK = {
    "01-the-main-way": {"UPDATES": 30},
    "02-attention-by-hand": {},
    "04-why-attention": {"PAIRS": 200, "UPDATES": 2, "TESTS": 2},
    "05-decoding": {"SENTENCES": 2, "BEAMS": [1, 2], "SAMPLES": 2, "MEMBERS": 2, "UPDATES": 2},
    "06-export-and-serve": {"BEAM": 1, "ROWS": [1, 2], "REPEATS": 1},
    "07-phrase-tables": {"PAIRS": 200, "UPDATES": 2, "TESTS": 2},
}
"""What takes the place of a notebook's parameters, so that all of them together take a minute."""

PATHS = [ROOT / "notebooks" / f"{name}.ipynb" for name in QUICK]
LARGEST = 400_000  # bytes
ABSOLUTE = re.compile(r"""(?<![\w.:/])/(?:home|root|tmp|usr|var|opt|work|mnt|Users)/\w|[A-Z]:\\\\""")


def read(path):
    return nbformat.read(path, as_version=4)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def with_parameters(notebook, values):
    """The notebook with the values of its cell of parameters, the one tagged so, replaced."""
    [cell] = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", ())]
    names = {target.id for line in ast.parse(cell.source).body for target in line.targets}
    assert values.keys() <= names, f"expected parameters among {names}, got {values}"
    cell.source += "".join(f"\n{name} = {value!r}" for name, value in values.items())
    return notebook


def test_every_notebook_is_tested():
    assert sorted((ROOT / "notebooks").glob("[0-9]*.ipynb")) == sorted(PATHS)


@pytest.fixture(scope="module")
def kernel():
    """One Python for all of them, so that TensorFlow is imported once."""
    client = nbclient.NotebookClient(
        nbformat.v4.new_notebook(), timeout=300, kernel_name="python3", resources={"metadata": {"path": str(ROOT / "notebooks")}}
    )
    with client.setup_kernel():
        yield client


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_notebooks_run_with_small_parameters(path, kernel):
    notebook = with_parameters(read(path), QUICK[path.stem])
    kernel.nb = notebook
    fresh = nbformat.v4.new_code_cell("%reset -f")
    notebook.cells.append(fresh)
    kernel.execute_cell(fresh, len(notebook.cells) - 1)
    for index, cell in enumerate(notebook.cells[:-1]):
        if cell.cell_type == "code":
            kernel.execute_cell(cell, index)
    assert "image/png" in kinds_of_output(notebook)


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_notebooks_run_whole(path):
    notebook = read(path)
    nbclient.NotebookClient(notebook, timeout=900, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}).execute()
    assert kinds_of_output(notebook) == kinds_of_output(read(path))


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_notebooks_are_committed_as_run_once_from_the_top(path):
    notebook = read(path)
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert "image/png" in kinds_of_output(notebook)
    assert not [output for cell in cells for output in cell.outputs if output.output_type == "error" or output.get("name") == "stderr"]
    assert not any("class " in cell.source for cell in cells), "expected a notebook to use the package, not to define classes"


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_notebooks_say_nothing_of_the_machine(path):
    notebook, text = read(path), path.read_text(encoding="utf-8")
    assert path.stat().st_size < LARGEST
    assert not ABSOLUTE.findall(re.sub(r'"image/png": "[^"]*"', "", text))
    assert notebook.metadata == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}, "language_info": {"name": "python"}
    }
    assert not [cell.metadata for cell in notebook.cells if cell.metadata.keys() - {"tags"}]


def kinds_of_output(notebook):
    outputs = [output for cell in code_cells(notebook) for output in cell.outputs]
    return {kind for output in outputs for kind in output.get("data", ())}
