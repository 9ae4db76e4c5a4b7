"""The C++ runner of exports for LiteRT: the Translator's translations, no Python in the process.

Skipped without a compiler or the libraries: TensorFlow Lite is Debian's libtensorflow-lite-dev, or
what LITERT_INCLUDE and LITERT_LIBRARY name.
"""

import os
import pathlib
import re

import pytest
from compiled import compiled, missing, run
from tiny_run import write_run

import rnnsearch_tf as rt
from rnnsearch_tf.data.phrasebook import phrasebook
from rnnsearch_tf.extras.litert.writer import export_litert

pytest.importorskip("ai_edge_litert.interpreter")

HEADERS = pathlib.Path(os.environ.get("LITERT_INCLUDE", "/usr/include"))
MISSING = missing(HEADERS / "tensorflow" / "lite" / "c" / "c_api.h")

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)}")


@pytest.fixture(scope="module")
def runner():
    return compiled("litert_runner")


@pytest.mark.parametrize("tokenization", ["space", "sentencepiece"])
def test_translations_are_those_of_the_translator(runner, tokenization, tmp_path):
    settings = [f"{side}.tokenization={tokenization}" for side in ("source", "target")]
    folder = write_run(tmp_path / "run", settings, unknown_words=None)
    exported = export_litert(folder, tmp_path / "served")
    lines = [*phrasebook(20, 3, "test")[0], "", "two unseen words", "  two  spaces "]
    done = run(runner, exported.folder, "--times", text="".join(f"{line}\n" for line in lines))
    expected = [translation.text for translation in rt.Translator.load(folder).translate(lines)]
    assert done.stdout.split("\n") == [*expected, ""]
    assert f"{len(lines)} lines in {len(lines)} calls" in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ([], 2, "expected one folder DIR/N of an export, got none"),
        (["a", "--threads", "0"], 2, "--threads: expected a whole number from 1 to 999999"),
        (["a", "--batch-size", "2"], 2, "unknown option --batch-size"),
        (["missing"], 1, r"missing: expected model\.json, .*got none"),
    ],
)
def test_wrong_usage_and_folders(runner, words, code, says):
    done = run(runner, *words)
    assert done.returncode == code
    assert done.stderr.startswith("litert_runner: error: ")
    assert re.search(says, done.stderr)


def test_a_damaged_file(runner, tmp_path):
    side = '{"tokenization": "space", "tokens": [], "lowercase": false}'
    settings = f'{{"format": 1, "source": {side}, "target": {side}}}'
    (tmp_path / "model.json").write_text(settings, encoding="utf-8")
    (tmp_path / "model.tflite").write_bytes(b"no model")
    done = run(runner, tmp_path)
    assert done.returncode == 1
    assert "expected a .tflite file" in done.stderr
