"""The C++ runner of ONNX exports: the translations of the Python runtime, no Python in the process.

Skipped without a compiler or the libraries: ONNX Runtime's headers are those of Debian, or in the
folder that ONNXRUNTIME_INCLUDE names.
"""

import os
import pathlib
import re

import pytest
from compiled import compiled, missing, run
from tiny_run import write_run

from rnnsearch_tf.data.phrasebook import phrasebook

ROOT = pathlib.Path(__file__).parents[2]
HEADERS = pathlib.Path(os.environ.get("ONNXRUNTIME_INCLUDE", "/usr/include/onnxruntime"))
MISSING = missing(HEADERS / "onnxruntime_cxx_api.h")
SHIPPED = ROOT / "runtime" / "rnnsearch_runtime" / "models" / "tatoeba-en-fr.onnx"

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)}")


@pytest.fixture(scope="module")
def runner():
    return compiled("onnx_runner")


def translations(model, lines, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "runtime"))
    from rnnsearch_runtime import Translator

    return [one.text for one in Translator(model).translate(lines, batch_size=1)]


def test_the_shipped_model(runner, monkeypatch):
    lines = [
        *phrasebook(40, 3, "test")[0],
        "",
        "  two  spaces ",
        "日本語",
        "Où ? \u2581x",
        "x" * 700,
    ]
    done = run(runner, SHIPPED, "--batch-size", 1, "--times", text="".join(f"{x}\n" for x in lines))
    assert done.stdout.split("\n") == [*translations(SHIPPED, lines, monkeypatch), ""]
    assert f"{len(lines)} lines in {len(lines)} calls" in done.stderr


@pytest.mark.slow
def test_words_of_spaces_and_unknown_words(runner, tmp_path, monkeypatch):
    from rnnsearch_tf.extras.onnx.writer import export_onnx

    lexicon = tmp_path / "lexicon"
    lexicon.write_text("the LE\n", encoding="utf-8")
    settings = ["source.tokenization=space", "target.tokenization=space"]
    settings += ["search.replace_unknown=true", f"search.lexicon={lexicon}"]
    run_folder = write_run(tmp_path / "run", settings)
    model = export_onnx(run_folder, tmp_path / "served").folder / "model.onnx"
    lines = [*phrasebook(40, 3, "test")[0], "", "three unseen words"]
    expected = translations(model, lines, monkeypatch)
    done = run(runner, model, text="\n".join(lines))  # in batches, without the last line break
    assert done.stdout.splitlines() == expected
    assert any("LE" in line.split() for line in expected)


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ([], 2, "expected one model file .*, got none"),
        (["a", "b"], 2, "expected one model file .*, got also 'b'"),
        (
            ["a", "--threads", "0"],
            2,
            "--threads: expected a whole number from 1 to 999999, got '0'",
        ),
        (["a", "--beam", "2"], 2, "unknown option --beam"),
        (["missing.onnx"], 1, "missing.onnx: .*doesn't exist"),
        ([__file__], 1, "test_onnx_runner.py: .*failed"),
    ],
)
def test_wrong_usage_and_files(runner, words, code, says):
    done = run(runner, *words)
    assert done.returncode == code
    assert done.stderr.startswith("onnx_runner: error: ")
    assert re.search(says, done.stderr)
