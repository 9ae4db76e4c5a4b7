"""The documents' Python runs as it stands, with a tiny model and tiny configurations."""

import pytest
from documents import DOCUMENTS, code_blocks
from tiny_run import SETTINGS, write_run

import rnnsearch_tf
from rnnsearch_tf.config import load_config
from rnnsearch_tf.export.writer import export_model
from rnnsearch_tf.extras.hub import run_to_preset

SHORT = [
    *SETTINGS,
    "training.maximum_updates=2",
    "training.evaluate_every=2",
    "training.evaluate_sentences=4",
]
SIGNATURES = ["signatures=[translate, nbest]"]
"""Of exports: fewer take less time."""


def python_blocks(document):
    """Those marked as Python, and indented ones that begin with an import."""
    return [
        code
        for language, code in code_blocks(document)
        if language == "python" or not language and code.startswith("import ")
    ]


WITH_PYTHON = [document for document in DOCUMENTS if python_blocks(document)]
TAKES_LONG = {"docs/guides/serving.md", "docs/guides/training.md"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with what the examples name: a RUN, a preset, text."""
    folder = tmp_path_factory.mktemp("reader")
    write_run(folder / "mine" / "run")
    run_to_preset(folder / "mine" / "run", folder / "presets" / "mine")
    return folder


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(name, marks=pytest.mark.slow if name in TAKES_LONG else ())
        for name in WITH_PYTHON
    ],
)
def test_python_in_documents_runs(document, folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(
        rnnsearch_tf, "load_config", lambda name: load_config(name, overrides=SHORT)
    )
    monkeypatch.setattr(
        rnnsearch_tf,
        "export_model",
        lambda run, output: export_model(run, output, overrides=SIGNATURES),
    )
    names = {}
    for code in python_blocks(document):
        exec(compile(code, document, "exec"), names)
