"""The C++ runner of ONNX exports: the translations of the Python runtime, no Python in the process.

Skipped without a compiler or the libraries: ONNX Runtime's headers are those of Debian, or in the
folder that ONNXRUNTIME_INCLUDE names.
"""

import fcntl
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from tiny_run import write_run

from rnnsearch_tf.data.phrasebook import phrasebook

ROOT = pathlib.Path(__file__).parents[2]
FOLDER = ROOT / "export"
HEADERS = [
    pathlib.Path(os.environ.get("ONNXRUNTIME_INCLUDE", "/usr/include/onnxruntime"))
    / "onnxruntime_cxx_api.h",
    pathlib.Path("/usr/include/sentencepiece_processor.h"),
    pathlib.Path("/usr/include/nlohmann/json.hpp"),
]
MISSING = [program for program in ("g++", "make") if not shutil.which(program)]
MISSING += [header.name for header in HEADERS if not header.exists()]
SHIPPED = ROOT / "runtime" / "rnnsearch_runtime" / "models" / "tatoeba-en-fr.onnx"

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)}")


@pytest.fixture(scope="module")
def runner():
    """The compiled runner; one process of the suite compiles, the others wait for it."""
    (FOLDER / "build").mkdir(exist_ok=True)
    with open(FOLDER / "build" / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = ["make", "-C", str(FOLDER), "onnx_runner", f"PYTHON={sys.executable}"]
        subprocess.run(command, check=True, capture_output=True)
    return FOLDER / "build" / "onnx_runner"


def run(runner, *words, text=""):
    return subprocess.run(
        [runner, *map(str, words)], input=text, capture_output=True, text=True, timeout=120
    )


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
