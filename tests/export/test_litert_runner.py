"""The C++ runner of exports for LiteRT: the Translator's translations, no Python in the process.

Skipped without a compiler or the libraries: TensorFlow Lite is Debian's libtensorflow-lite-dev, or
what LITERT_INCLUDE and LITERT_LIBRARY name.
"""

import json
import math
import os
import pathlib
import re

import pytest
import tensorflow as tf
from compiled import compiled, missing, run
from tiny_run import write_run

import rnnsearch_tf as rt
from rnnsearch_tf.config import SPECIAL_TOKENS
from rnnsearch_tf.data.phrasebook import phrasebook
from rnnsearch_tf.export.graph_export import export_graph
from rnnsearch_tf.extras.litert.writer import LITERT

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
    if tokenization == "space":
        settings.append("search.replace_unknown=true")
    folder = write_run(tmp_path / "run", settings)
    exported = export_graph(LITERT, folder, tmp_path / "served")
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


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("ids", [[[3, 1]]], None),
        ("ids", [[[3.0, 1.0]]], "got other outputs"),
        ("ids", [3, 1], "got other outputs"),
        ("scores", [[math.nan]], "expected a translation, got none"),
        ("scores", [[-1e9]], "expected a translation, got none"),
        ("alignments", [[[[1.0, 0.0], [0.0, 1.0]]]], "got other outputs"),
        ("scores", None, "got other outputs"),
    ],
)
def test_models_with_other_outputs(runner, tmp_path, name, value, says):
    alignments = [[[[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]]]
    outputs = {"ids": [[[3, 1]]], "scores": [[0.0]], "alignments": alignments} | {name: value}

    @tf.function(input_signature=[tf.TensorSpec([1, None], tf.int32, "source_ids")])
    def search(source_ids):
        zero = tf.reduce_sum(0 * source_ids)  # so that no output is a constant
        found = {k: tf.constant(each) for k, each in outputs.items() if each is not None}
        return {k: each + tf.cast(zero, each.dtype) for k, each in found.items()}

    saved, converted = tmp_path / "saved", tmp_path / "model.tflite"
    tf.saved_model.save(tf.Module(), saved, {"serving_default": search})
    converted.write_bytes(tf.lite.TFLiteConverter.from_saved_model(str(saved)).convert())
    side = {"tokenization": "space", "lowercase": False, "tokens": [*SPECIAL_TOKENS, "le"]}
    settings = {"format": 1, "maximum_source_length": 9, "source": side, "target": side}
    settings["search"] = {"replace_unknown": False}
    (tmp_path / "model.json").write_text(json.dumps(settings), encoding="utf-8")
    done = run(runner, tmp_path, text="a b\n")
    if says is None:
        assert (done.stdout, done.stderr) == ("le\n", "")
    else:
        assert done.returncode == 1
        assert says in done.stderr


def test_a_damaged_file(runner, tmp_path):
    side = '{"tokenization": "space", "tokens": [], "lowercase": false}'
    search = '{"replace_unknown": false}'
    settings = f'{{"format": 1, "source": {side}, "target": {side}, "search": {search}}}'
    (tmp_path / "model.json").write_text(settings, encoding="utf-8")
    (tmp_path / "model.tflite").write_bytes(b"no model")
    done = run(runner, tmp_path)
    assert done.returncode == 1
    assert "expected a .tflite file" in done.stderr
