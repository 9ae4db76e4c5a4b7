"""Every flag of the verbs that make something of a trained model; see flag_tables.py."""

import pathlib
import sys
import types

import numpy as np
from flag_tables import GONE, MODELS, check, complete

from rnnsearch_tf.cli import main
from rnnsearch_tf.config import load_config


def test_export(observe, monkeypatch):
    from rnnsearch_tf.export import graph_export, writer
    from rnnsearch_tf.extras.web import writer as web_writer

    names = ["models", "folder", "version", "profile", "set", "combine"]
    done = types.SimpleNamespace(
        folder="out/1", bytes=1234, compared=5, cost="a cost", left_out=None
    )
    noted = observe.note(*names, answer=done)
    monkeypatch.setattr(writer, "export_model", lambda *values: noted(*values, format="savedmodel"))
    monkeypatch.setattr(
        graph_export,
        "export_graph",
        lambda format, *values: noted(*values, format=format.option),
    )
    monkeypatch.setattr(
        web_writer,
        "export_web",
        lambda *values, library: noted(*values, format="web", library=library),
    )
    settings = ["weights=int8", "temperature=2"]
    changed = ["--set", settings[0], "--set", settings[1]]
    plain = check(
        observe,
        "export",
        ["--model", "run", "--output", "out"],
        {
            "--model": (["--model", "other"], {"models": ["other", "run"]}),
            "--combine": MODELS["--combine"],
            "--output": (["--output", "yours"], {"folder": "yours"}),
            "--format": (["--format", "onnx"], {"format": "onnx"}),
            "--version": (["--version", "7"], {"version": 7}),
            "--profile": (["--profile", "p.yaml"], {"profile": "p.yaml"}),
            "--set": (changed, {"set": settings}),
            "--onnxruntime-web": (
                ["--format", "web", "--onnxruntime-web", "f.tgz"],
                {"format": "web", "library": "f.tgz"},
            ),
        },
    )
    arguments = ["export", "--model", "run", "--output", "out", "--format"]
    assert observe(*arguments, "litert")["format"] == "litert"
    del plain["output"]
    assert plain.pop("format") == "savedmodel"
    assert plain == dict(zip(names, [["run"], "out", None, None, [], "probabilities"]))


def test_preset(observe, monkeypatch, tmp_path):
    """No flags; FROM says which way."""
    hub = types.SimpleNamespace(
        run_to_preset=observe.note("run", "preset"), preset_to_run=observe.note("preset", "run")
    )
    monkeypatch.setitem(sys.modules, "rnnsearch_tf.extras.hub", hub)
    complete("preset")
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "task.json").touch()
    assert observe("preset", "run", "new") == {"run": "run", "preset": "new", "output": ["new"]}
    assert observe("preset", "made", "new") == {"run": "new", "preset": "made", "output": ["new"]}


def test_average(observe, monkeypatch):
    from rnnsearch_tf.training import averaging

    paths = [pathlib.Path("evaluated/10"), pathlib.Path("evaluated/20")]
    note = observe.note("run", "folder", "last", answer=paths)
    monkeypatch.setattr(averaging, "average_run", note)

    def facts(folder):
        return {"folder": folder, "output": [f"{folder}: the mean of 10, 20"]}

    plain = check(
        observe,
        "average",
        ["run"],
        {
            "--last": (["--last", "3"], {"last": 3}),
            "--output": (["--output", "yours"], facts("yours")),
        },
    )
    assert plain == {"run": "run", "last": None} | facts("run/averaged")


def test_embed(observe, monkeypatch, capsys):
    from rnnsearch_tf.extras.plots import alignment as plots
    from rnnsearch_tf.extras.plots import vectors

    def word_vectors(model, text, side, number):
        observe.facts["words"] = (text.config.language, side, number)
        return ["a", "b"], "vectors"

    def sentence_vectors(model, text, lines):
        observe.facts["sentences"] = (text.config.language, lines)
        return "vectors"

    def project(found, method):
        observe.facts["plane"] = (found, method)
        return [(0.5, 1.0), (1.5, 2.0)]

    monkeypatch.setattr(vectors, "word_vectors", word_vectors)
    monkeypatch.setattr(vectors, "sentence_vectors", sentence_vectors)
    monkeypatch.setattr(vectors, "project", project)
    monkeypatch.setattr(plots, "vectors_figure", lambda points, texts: f"{texts}")
    monkeypatch.setattr(plots, "png", str.encode)

    def files(name="vectors/words-tsne", texts=("a", "b")):
        table = [f"{texts[0]}\t0.5\t1", f"{texts[1]}\t1.5\t2"]
        output = [f"{name}.png", f"{name}.tsv"]
        return {f"{name}.png": [f"{list(texts)}"], f"{name}.tsv": table, "output": output}

    gone = {"vectors/words-tsne.png": GONE, "vectors/words-tsne.tsv": GONE}
    pca = gone | files("vectors/words-pca") | {"plane": ("vectors", "pca")}
    plain = check(
        observe,
        "embed",
        ["--model", "run", "words"],
        {
            "--method": (["--method", "pca"], pca),
            "--side": (["--side", "target"], {"words": ("fr", "target", 300)}),
            "--number": (["--number", "7"], {"words": ("en", "source", 7)}),
            "--output": (["--output", "yours"], gone | files("yours/words-tsne")),
        },
        "--model",
    )
    facts = {"models": [["run"]], "combine": "probabilities", "plane": ("vectors", "tsne")}
    assert plain == facts | {"words": ("en", "source", 300)} | files()
    found = observe("embed", "--model", "other", "words")
    assert found == plain | {"models": [["other"]], "words": ("fr", "source", 300)}
    found = observe("embed", "--model", "run", "sentences", "ss")
    assert found == facts | {"sentences": ("en", ["x y"] * 2)} | files(
        "vectors/sentences-tsne", ["x y"] * 2
    )
    assert observe("embed", "--model", "run", "phrases", "ss")["sentences"] == ("en", ["x y"])
    found = observe("embed", "--model", "run", "--number", "1", "sentences", "ss")
    assert found["sentences"] == ("en", ["x y"])
    for file, told in (("ss", True), ("u", False)):
        assert main.run(["embed", "--model", "run", "--number", "1", "sentences", file]) == 0
        assert ("plotting the first 1 sentences; " in capsys.readouterr().err) == told


class FakeIds(list):
    def to_list(self):
        return list(self)


class FakeText:
    """Every word is its place in the alphabet; the end is 0."""

    vocabulary = types.SimpleNamespace(size=27, tokens="_abcdefghijklmnopqrstuvwxyz")

    def encode(self, lines):
        return FakeIds([ord(word.lower()) - 96 for word in line.split()] + [0] for line in lines)


def test_shortlist(observe, monkeypatch):
    from rnnsearch_tf.alignment import word_translations
    from rnnsearch_tf.text import pipeline

    def load_text(run, side, config):
        observe.facts.setdefault("texts", []).append((run.path.name, side, config.language))
        return FakeText()

    def translation_probabilities(text, size, iterations):
        observe.facts.update(text=list(text), size=size, iterations=iterations)
        return np.array([1, 1, 2]), np.array([1, 2, 3]), np.array([0.75, 0.25, 0.5])

    monkeypatch.setattr(pipeline, "load_text", load_text)
    monkeypatch.setattr(word_translations, "translation_probabilities", translation_probabilities)
    lines = ["a a 0.750000", "a b 0.250000", "b c 0.500000"]
    pairs = [([24, 25, 0], [1, 2]), ([26, 25, 0], [3, 4])]
    words = ["s", "t"]
    base = ["--model", "run", *words]
    plain = check(
        observe,
        "shortlist",
        base,
        {
            "--translations": (["--translations", "1"], {"output": lines[::2]}),
            "--pairs": (["--pairs", "1"], {"text": pairs[:1]}),
            "--maximum-length": (["--maximum-length", "1"], {"text": []}),
            "--iterations": (["--iterations", "7"], {"iterations": 7}),
            "--output": (["--output", "out"], {"output": [], "out": lines}),
        },
        "--model",
    )
    texts = [("run", "source", "en"), ("run", "target", "fr")]
    facts = {"texts": texts, "text": pairs, "size": 27, "iterations": 5, "output": lines}
    assert plain == facts
    other = [("other", *rest) for _, *rest in texts]
    assert observe("shortlist", "--model", "other", *words) == plain | {"texts": other}


def test_import(observe, monkeypatch):
    from rnnsearch_tf.extras.importing import check as comparison
    from rnnsearch_tf.extras.importing import importer

    def compared(translator, sentences):
        observe.facts["checked"] = (translator, sentences)
        return ["check: equal"], True

    names = ["program", "files", "folder", "settings"]
    translator = types.SimpleNamespace(config=load_config())
    noted = observe.note(*names, answer=(translator, ["found"]))
    monkeypatch.setattr(importer, "import_model", noted)
    monkeypatch.setattr(comparison, "compare", compared)
    monkeypatch.setattr(comparison, "read_sentences", lambda path: ["read of", path])
    plain = check(
        observe,
        "import",
        ["nematus", "s", "t", "--output", "new"],
        {
            "--output": (["--output", "yours"], {"folder": "yours", "output": ["yours"]}),
            "--set": (["--set", "a=1", "--set", "b=2"], {"settings": ["a=1", "b=2"]}),
            "--check": (
                ["--check", "u"],
                {"checked": (translator, ["read of", "u"]), "output": ["new", "check: equal"]},
            ),
        },
    )
    del plain["output"]
    assert plain == dict(zip(names, ["nematus", ["s", "t"], "new", []]))
