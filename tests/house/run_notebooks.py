"""Run notebooks whole and write them with their outputs: ``python tests/house/run_notebooks.py
notebooks/05-decoding.ipynb``.

What is written says nothing of the machine: no times, no versions, and nothing of standard error,
on which TensorFlow remarks about processors.
"""

import pathlib
import sys

import nbclient
import nbformat

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def read(path):
    return nbformat.read(path, as_version=4)


def client(notebook, folder, timeout):
    """An nbclient.NotebookClient that runs in this folder, with `timeout` seconds for a cell."""
    options = dict(
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(folder)}},
    )
    return nbclient.NotebookClient(notebook, timeout=timeout, **options)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def cleaned(notebook):
    """The notebook without what differs from machine to machine."""
    notebook.metadata = METADATA
    for cell in code_cells(notebook):
        cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    return notebook


def run_whole(path):
    """The notebook with new outputs."""
    notebook = read(path)
    client(notebook, pathlib.Path(path).parent, timeout=900).execute()
    return cleaned(notebook)


if __name__ == "__main__":
    for path in sys.argv[1:]:
        nbformat.write(run_whole(path), path)
