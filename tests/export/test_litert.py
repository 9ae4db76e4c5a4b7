"""A RUN as a LiteRT file: small weights, its settings, the example that translates with it, what is
refused.
"""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import searches
from tiny_run import write_run

import rnnsearch_tf as rt
from rnnsearch_tf.config import SearchConfig
from rnnsearch_tf.data.phrasebook import phrasebook
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.extras.litert import graph
from rnnsearch_tf.extras.litert.graph import search_litert
from rnnsearch_tf.export.graph_export import export_graph
from rnnsearch_tf.extras.litert.writer import LITERT
from rnnsearch_tf.runs.folder import Run

interpreter = pytest.importorskip("ai_edge_litert.interpreter")
ROOT = pathlib.Path(__file__).parents[2]


def runner_of(content):
    return interpreter.Interpreter(model_content=content).get_signature_runner()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("litert") / "run")


@pytest.mark.parametrize("weights", ["float16", "int8"])
def test_small_weights_are_near(weights):
    sizes = dict(embedding_size=48, hidden_size=64, alignment_size=64, maxout_size=48)
    searched = searches.model("rnnsearch", **sizes)
    config = SearchConfig(beam_size=1, maximum_length_ratio=1.0)
    small, large = (search_litert(searched, config, weights=kind) for kind in (weights, "float32"))
    assert len(small) < 0.7 * len(large)
    got, expected = (
        runner_of(content)(source_ids=np.array([[5, 9, 1]], np.int32)) for content in (small, large)
    )
    assert np.abs(got["scores"] - expected["scores"]).max() < 0.02


def test_each_kind_of_weights_has_its_size():
    """Two bytes a weight, and one."""
    sizes = dict(embedding_size=48, hidden_size=64, alignment_size=64, maxout_size=48)
    searched = searches.model("rnnsearch", **sizes)
    config = SearchConfig(beam_size=1, maximum_length_ratio=1.0)
    half, eight = (
        len(search_litert(searched, config, weights=kind)) for kind in ("float16", "int8")
    )
    assert eight < 0.8 * half


def test_the_graph_has_the_weights_and_the_shortlist_of_the_profile(tmp_path, monkeypatch):
    (tmp_path / "words").write_text("cat chat 1.0\n")
    run = write_run(tmp_path / "run", [f"search.shortlist={tmp_path / 'words'}"])
    seen = []

    def noted(model, config, shortlist, weights):
        seen.append((shortlist is not None, weights))
        raise UserError("enough")

    monkeypatch.setattr(graph, "search_litert", noted)
    with pytest.raises(UserError, match="enough"):
        export_graph(LITERT, run, tmp_path / "served", overrides=["weights=int8"])
    assert seen == [(True, "int8")]


def test_a_run_becomes_a_version(run, tmp_path):
    exported = export_graph(LITERT, run, tmp_path / "served", overrides=["weights=int8"])
    assert sorted(path.name for path in exported.folder.iterdir()) == [
        "model.json",
        "model.tflite",
        "model_card.md",
        "profile.yaml",
    ]
    assert exported.compared == 0 and "int8 weights: BLEU" in exported.cost
    settings = json.loads((exported.folder / "model.json").read_text(encoding="utf-8"))
    assert settings["format"] == 1 and settings["search"]["beam_size"] == 3
    tokens = (run / "vocabulary.source.txt").read_text(encoding="utf-8").split()
    assert settings["source"]["tokens"] == tokens
    with pytest.raises(UserError, match=r"model\.tflite"):
        Run.open(exported.folder)


def test_the_example_translates_as_the_translator(tmp_path):
    """With unknown words replaced; after a byte-order mark; a line that is too long is cut."""
    space = ["source.tokenization=space", "target.tokenization=space"]
    run = write_run(tmp_path / "run", [*space, "search.replace_unknown=true"])
    settings = ["maximum_source_length=6"]
    exported = export_graph(LITERT, run, tmp_path / "served", overrides=settings)
    assert exported.compared >= 10
    lines = [*phrasebook(20, 3, "test")[0], "", "two unseen words"]
    lines = [line for line in lines if len(line.split()) <= 6] + ["a b c d e f"]
    done = example(
        exported.folder, "\ufeff" + "".join(f"{line}\n" for line in lines[:-1] + ["a b c d e f g"])
    )
    expected = [translation.text for translation in rt.Translator.load(run).translate(lines)]
    assert done.stdout.splitlines() == expected and done.returncode == 0
    assert done.stderr.splitlines()[-1] == "cut 7 tokens to the maximum, 6"
    assert any("The" in line.split() for line in expected), "a word of the source"


def example(folder, text):
    return subprocess.run(
        [sys.executable, ROOT / "export" / "litert_example.py", folder],
        input=text,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "runtime")},
    )


def test_the_example_refuses_a_newer_format(tmp_path):
    (tmp_path / "model.tflite").touch()
    (tmp_path / "model.json").write_text('{"format": 2}', encoding="utf-8")
    done = example(tmp_path, "a\n")
    assert done.returncode == 1
    assert done.stderr.startswith("expected settings of format 1, got a newer one")


def test_options_without_effect_are_refused(run, tmp_path):
    with pytest.raises(UsageError, match="temperature: it has no effect on a file for LiteRT"):
        export_graph(LITERT, run, tmp_path / "served", overrides=["temperature=2.0"])


def test_a_wrong_answer_is_not_published(run, tmp_path, monkeypatch):
    def wrong(model, config, shortlist, weights):
        other = dataclasses.replace(config, length_penalty=0.0)
        return search_litert(model, other, shortlist, weights)

    monkeypatch.setattr(graph, "search_litert", wrong)
    with pytest.raises(UserError, match="expected the Python model's answer"):
        export_graph(LITERT, run, tmp_path / "served")
    assert not list((tmp_path / "served").glob("[0-9]*"))
