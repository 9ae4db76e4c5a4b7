"""The C++ runner of ONNX exports: the translations of the Python runtime, no Python in the process.

Skipped without a compiler or the libraries: ONNX Runtime's headers are those of Debian, or in the
folder that ONNXRUNTIME_INCLUDE names.
"""

import json
import os
import pathlib
import re

import numpy as np
import onnx
import pytest
from compiled import compiled, missing, run
from tiny_run import write_run

from rnnsearch_tf.config import SPECIAL_TOKENS
from rnnsearch_tf.data.phrasebook import phrasebook

ROOT = pathlib.Path(__file__).parents[2]
HEADERS = pathlib.Path(os.environ.get("ONNXRUNTIME_INCLUDE", "/usr/include/onnxruntime"))
MISSING = missing(HEADERS / "onnxruntime_cxx_api.h")
SHIPPED = ROOT / "runtime" / "rnnsearch_runtime" / "models" / "tatoeba-en-fr.onnx"

SPACED = [
    "Bonjour\u00a0! a\x07b",
    "\u3000a\u0085b\u2003 c\x1cd\u2028e\u202f\x02 ",
    "\u200bx\ufeff \u1680\u205f",
    "\x01",
]
"""Lines with other white space than that of ASCII, and control characters."""

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
        *SPACED,
        "Où ? \u2581x",
        "x" * 700,
    ]
    done = run(runner, SHIPPED, "--batch-size", 1, "--times", text="".join(f"{x}\n" for x in lines))
    assert done.stdout.split("\n") == [*translations(SHIPPED, lines, monkeypatch), ""]
    assert f"{len(lines)} lines in {len(lines)} calls" in done.stderr


@pytest.mark.slow
def test_words_of_spaces_and_unknown_words(runner, tmp_path, monkeypatch):
    from rnnsearch_tf.export.graph_export import export_graph
    from rnnsearch_tf.extras.onnx.writer import ONNX

    lexicon = tmp_path / "lexicon"
    lexicon.write_text("the LE\n", encoding="utf-8")
    settings = ["source.tokenization=space", "target.tokenization=space"]
    settings += ["search.replace_unknown=true", f"search.lexicon={lexicon}"]
    run_folder = write_run(tmp_path / "run", settings)
    model = export_graph(ONNX, run_folder, tmp_path / "served").folder / "model.onnx"
    lines = [*phrasebook(40, 3, "test")[0], "", "three unseen words", *SPACED]
    expected = translations(model, lines, monkeypatch)
    done = run(runner, model, text="\n".join(lines))  # in batches, without the last line break
    assert done.stdout.splitlines() == expected
    assert any("LE" in line.split() for line in expected)


SIDE = {"tokenization": "space", "tokens": [*SPECIAL_TOKENS, "le"], "lowercase": False}
OUTPUTS = {  # of a sentence of two tokens
    "ids": np.array([[[3, 1]]], np.int32),
    "alignments": np.full([1, 1, 2, 3], 0.3, np.float32),
    "scores": np.zeros([1, 1], np.float32),
}


def model_of(path, outputs=OUTPUTS, **settings):
    """An ONNX file with these outputs for every source."""
    make = onnx.helper
    constants = [onnx.numpy_helper.from_array(array, f"c.{k}") for k, array in outputs.items()]
    types = [make.np_dtype_to_tensor_dtype(array.dtype) for array in outputs.values()]
    graph = make.make_graph(
        [make.make_node("Identity", [f"c.{name}"], [name]) for name in outputs],
        "graph",
        [make.make_tensor_value_info("source_ids", onnx.TensorProto.INT32, [None, None])],
        [make.make_tensor_value_info(*one, None) for one in zip(outputs, types)],
        constants,
    )
    proto = make.make_model(graph, opset_imports=[make.make_opsetid("", 18)], ir_version=8)
    about = {"format": 1, "maximum_source_length": 9, "search": {"replace_unknown": False}}
    about |= {"source": SIDE, "target": SIDE} | settings
    onnx.helper.set_model_props(proto, {"rnnsearch": json.dumps(about)})
    onnx.save(proto, path)
    return path


@pytest.mark.parametrize(
    ("name", "array", "says"),
    [
        ("ids", np.array([[[3, 1]]]), "got other outputs"),  # int64
        ("ids", np.array([[[3]]], np.int32), "got other outputs"),
        ("ids", np.array([3, 1], np.int32), "got other outputs"),
        ("alignments", np.zeros([1, 2], np.float32), "got other outputs"),
        ("alignments", np.zeros([1, 1, 2, 2], np.float32), "got other outputs"),
        ("scores", np.zeros([1, 2], np.float32), "got other outputs"),
        ("scores", np.array([[np.nan]], np.float32), "expected a translation, got none"),
        ("scores", np.array([[-1e9]], np.float32), "expected a translation, got none"),
    ],
)
def test_models_with_other_outputs(runner, tmp_path, name, array, says):
    good = run(runner, model_of(tmp_path / "good.onnx"), text="a b\n")
    assert (good.stdout, good.stderr) == ("le\n", "")
    done = run(runner, model_of(tmp_path / "bad.onnx", OUTPUTS | {name: array}), text="a b\n")
    assert done.returncode == 1
    assert says in done.stderr


def test_a_mark_at_the_beginning_bytes_that_are_no_text_and_a_long_line(runner, tmp_path):
    """The source comes out, as each target word is unknown."""
    outputs = OUTPUTS | {"ids": np.array([[[2, 2, 1]]], np.int32)}
    outputs["alignments"] = np.float32([[[[1, 0, 0], [0, 1, 0], [0, 0, 1]]]])
    settings = {"maximum_source_length": 2, "search": {"replace_unknown": True}}
    path = model_of(tmp_path / "model.onnx", outputs, **settings)
    lines = [b"\xef\xbb\xbfa b c", b"\xe0\x80\xa0 \xffx", b"\xef\xbb\xbfa \xf0\x9f\x99\x82"]
    done = run(runner, path, "--batch-size", 1, text=b"\n".join(lines), encoding=None)
    bad = "\ufffd"
    assert done.stdout.decode().splitlines() == ["a b", f"{3 * bad} {bad}x", "\ufeffa 🙂"]
    assert b"of 3 tokens was cut to 2" in done.stderr


def test_invisible_characters_are_removed_where_the_source_says_so(runner, tmp_path, monkeypatch):
    """Beside the runtime in Python: the words come out, as each target word is unknown."""
    monkeypatch.syspath_prepend(str(ROOT / "runtime"))
    from rnnsearch_runtime.text import Text

    lines = [chr(code) for code in range(0x7F, 0xB0)]
    lines += [chr(code) for code in (*range(0x2000, 0x2070), 0xFEFF, 0xFEFE, 0x180E)]
    lines = [f"a{each}b" for each in lines]
    outputs = OUTPUTS | {"ids": np.array([[[2, 2, 1]]], np.int32)}
    outputs["alignments"] = np.float32([[[[1, 0, 0], [0, 1, 0], [0, 0, 1]]]])
    for removes in (True, False):
        side = SIDE | {"remove_invisible": removes}
        model = model_of(
            tmp_path / "model.onnx", outputs, source=side, search={"replace_unknown": True}
        )
        text = Text(side | {"unicode_form": "none"}, "source")
        done = run(runner, model, "--batch-size", 1, text="\n".join(lines))
        assert [line.split()[0] for line in done.stdout.split("\n")[:-1]] == [
            text.tokenize(line)[0] for line in lines
        ]


@pytest.mark.parametrize("option", [{"lowercase": True}, {"unicode_form": "NFKC"}])
def test_only_the_sources_normalization_is_refused(runner, tmp_path, option):
    done = run(runner, model_of(tmp_path / "model.onnx", source=SIDE | option), text="a b\n")
    assert done.returncode == 1
    assert "expected a source without the options lowercase and unicode_form NFKC" in done.stderr
    done = run(runner, model_of(tmp_path / "model.onnx", target=SIDE | option), text="a b\n")
    assert (done.stdout, done.stderr) == ("le\n", "")


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
        (["a", "--threads", "é"], 2, "expected a whole number from 1 to 999999, got 'é'"),
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
