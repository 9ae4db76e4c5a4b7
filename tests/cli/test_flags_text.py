"""Every flag of the verbs that look at text before a training; see flag_tables.py."""

import json
import os
import pathlib
import types

import numpy as np
from flag_tables import GONE, check, complete

from rnnsearch_tf.cli import main
from rnnsearch_tf.config import load_config


def test_init(observe, tmp_path):
    (tmp_path / "a.en").write_text("x y\n" * 150)
    (tmp_path / "a.fr").write_text("A b\n" * 150)
    (tmp_path / "b").write_text("x z\n" * 150)

    def written(*words):
        assert main.run(["init", *words, "mine"]) == 0
        config = load_config("mine/config.yaml")
        os.unlink("mine/config.yaml")
        os.rmdir("mine")
        return config

    def names(config):
        text = config.data.train_source, config.data.train_target
        return [os.path.basename(name) for name in text]

    languages = {"--source-language", "--target-language"}
    columns = {"--pairs", "--columns"}
    complete("init", languages | columns, {"--source", "--target", "--minutes"})
    base = ["--source", "a.en", "--target", "a.fr"]
    plain = written(*base)
    assert (plain.source.language, plain.target.language) == ("en", "fr")
    assert plain.training.maximum_minutes == 60
    assert names(plain) == ["a.en", "a.fr"]
    assert names(written("--source", "b", "--target", "a.fr")) == ["b", "a.fr"]
    assert names(written("--source", "a.en", "--target", "b")) == ["a.en", "b"]
    assert written(*base, "--minutes", "7").training.maximum_minutes == 7
    assert written(*base, "--source-language", "de").source.language == "de"
    assert written(*base, "--target-language", "de").target.language == "de"
    (tmp_path / "p.csv").write_text("en,fr,de\n" + "x y,A b,c d\n" * 150)
    table = written("--pairs", "p.csv", "--columns", "fr,de")
    assert names(table) == ["p.csv#fr", "p.csv#de"]
    assert (table.source.language, table.target.language) == ("fr", "de")


def test_prepare(observe, monkeypatch):
    from rnnsearch_tf.data.prepared import store as prepared
    from rnnsearch_tf.data.prepared import writing as preparing

    pairs = types.SimpleNamespace(report="done", count=7, manifest={"ids": 9})
    note = observe.note("config", "folder", "processes", answer=pairs)
    monkeypatch.setattr(preparing, "prepare", note)

    def report(folder):
        return [json.dumps({"prepared": folder, "pairs": 7, "ids": 9})]

    changed = load_config("phrasebook", ["training.seed=5"])
    base = ["--config", "phrasebook", "--output", "mine"]
    plain = check(
        observe,
        "prepare",
        base,
        {
            "--config": (
                ["--config", "phrasebook-lstm"],
                {"config": load_config("phrasebook-lstm")},
            ),
            "--set": (["--set", "training.seed=5"], {"config": changed}),
            "--output": (["--output", "yours"], {"folder": "yours", "output": report("yours")}),
            "--processes": (["--processes", "3"], {"processes": 3}),
        },
        "--check",
    )
    facts = {"config": load_config("phrasebook"), "folder": "mine", "processes": None}
    assert plain == facts | {"output": report("mine")}

    class FakePairs:
        count = 7

        def __init__(self, folder):
            observe.facts["read"] = folder

        def verify(self):
            observe.facts["verified"] = True

    monkeypatch.setattr(prepared, "PreparedPairs", FakePairs)
    found = observe("prepare", "--check", "--output", "yours")
    line = "yours: 7 pairs, all checksums match"
    assert found == {"read": "yours", "verified": True, "output": [line]}


def test_doctor(observe, monkeypatch, tmp_path):
    from rnnsearch_tf.data.inspection import cleaning
    from rnnsearch_tf.data.inspection import doctor as checks
    from rnnsearch_tf.runtime import optional
    from rnnsearch_tf.text import pipeline

    def check_data(config, *texts, languages=True):
        observe.facts.setdefault("checked", []).append((config, *texts, languages))
        return [checks.Finding("warning", "train", "odd")]

    def clean_text(config, folder):
        observe.facts["cleaned"] = config, folder
        files = tuple(pathlib.Path(folder, name) for name in ("s", "t", "changes.tsv"))
        return cleaning.Cleaned(files, 2, 1, {}, {})

    def build_texts(config, lines):
        observe.facts["built"] = config
        return "source", "target"

    monkeypatch.setattr(checks, "check_data", check_data)
    monkeypatch.setattr(cleaning, "clean_text", clean_text)
    monkeypatch.setattr(pipeline, "build_texts", build_texts)

    def facts(config):
        checked = [(config, False), (config, "source", "target", True)]
        return {"checked": checked, "built": config}

    def of_pairs(source, target):
        texts = [f"{os.path.abspath('p.tsv')}#{column}" for column in (source, target)]
        words = [f"data.train_{side}={text}" for side, text in zip(("source", "target"), texts)]
        return load_config("phrasebook", ["data.corpus=files", *words])

    (tmp_path / "p.tsv").write_text("x\ty\n")
    config = load_config("phrasebook")
    changed = facts(load_config("phrasebook", ["training.seed=5"]))
    files = [f"{observe.folder}/clean/{name}" for name in ("s", "t")]
    said = [
        "1 of 2 pairs written: clean/s, clean/t",
        "each with its file, line and reason: clean/changes.tsv",
        "use them by two lines of the configuration, under data:",
        f"  train_source: {files[0]}",
        f"  train_target: {files[1]}",
        "or by:  rnnsearch doctor --config phrasebook"
        f" --set data.train_source={files[0]} --set data.train_target={files[1]}",
    ]
    monkeypatch.setattr(optional, "has", lambda *modules: True)
    plain = check(
        observe,
        "doctor",
        ["--config", "phrasebook"],
        {
            "--config": (["--config", "phrasebook-lstm"], facts(load_config("phrasebook-lstm"))),
            "--set": (["--set", "training.seed=5"], changed),
            "--quick": (["--quick"], {"checked": [(config, True)], "built": GONE}),
            "--fix": (
                ["--fix", "clean"],
                {"cleaned": (config, "clean"), "output": said, "checked": GONE, "built": GONE},
            ),
            "--pairs": (["--pairs", "p.tsv"], facts(of_pairs("1", "2"))),
            "--columns": (["--pairs", "p.tsv", "--columns", "2,1"], facts(of_pairs("2", "1"))),
        },
    )
    assert plain == facts(config) | {"output": ["warning: train: odd", "0 error(s), 1 warning(s)"]}
    monkeypatch.setattr(optional, "has", lambda *modules: False)
    bare = observe("doctor", "--config", "phrasebook", "--fix", "clean")["output"]
    needed = 'pip install "rnnsearch-tf[languages]"'
    assert bare == [
        *said[:2],
        f"lines in another language were not looked for: {needed}",
        *said[2:],
    ]


def test_select(observe, monkeypatch):
    from rnnsearch_tf.data.inspection import selection

    names = [
        *("in domain", "files", "share", "texts", "order", "longest", "seed", "rounds", "words")
    ]
    done = types.SimpleNamespace(
        scores=np.array([0.5, -1.0]), kept=np.array([False, True]), left_out=0, cut_off=-1.0
    )

    def select(*words):
        found = dict(zip(names, words, strict=True))
        texts = [(text.language, text.tokenization, text.lowercase) for text in found["texts"]]
        observe.facts.update(found | {"texts": texts})
        return done

    def texts(source="en", target="en", tokenization="moses"):
        return {"texts": [(source, tokenization, True), (target, tokenization, True)]}

    monkeypatch.setattr(selection, "select", select)
    report = [
        "kept       1 of 2 pairs (50.0 %)",
        "left out   0 with an empty side or too long",
        "cut-off    -1.0000 nats a token",
    ]
    kept = {"output": report, "o1": ["z y"], "o2": ["c d"]}
    both = ["--output-source", "o1", "--output-target", "o2"]
    base = [
        *("--in-domain-source", "u", "--in-domain-target", "f"),
        *("--source", "s", "--target", "t", "--keep", "0.5"),
    ]
    plain = check(
        observe,
        "select",
        base,
        {
            "--in-domain-source": (["--in-domain-source", "s"], {"in domain": ["s", "f"]}),
            "--in-domain-target": (["--in-domain-target", "s"], {"in domain": ["u", "s"]}),
            "--source": (["--source", "t"], {"files": ["t", "t"], "output": ["c d\tc d"]}),
            "--target": (["--target", "s"], {"files": ["s", "s"], "output": ["z y\tz y"]}),
            "--keep": (["--keep", "0.1"], {"share": 0.1}),
            "--target-words": (["--target-words", "9"], {"words": 9}),
            "--output-source": (both, kept),
            "--output-target": (both, kept),
            "--scores": (["--scores", "out"], {"out": ["0.500000", "-1.000000"]}),
            "--maximum-length": (["--maximum-length", "9"], {"longest": 9}),
            "--tokenized": (["--tokenized"], texts(tokenization="space")),
            "--source-language": (["--source-language", "de"], texts(source="de")),
            "--target-language": (["--target-language", "de"], texts(target="de")),
            "--order": (["--order", "4"], {"order": 4}),
            "--rounds": (["--rounds", "2"], {"rounds": 2}),
            "--seed": (["--seed", "5"], {"seed": 5}),
        },
    )
    values = [["u", "f"], ["s", "t"], 0.5, texts()["texts"], 2, None, 1, 1, None]
    assert plain == dict(zip(names, values)) | {"output": ["z y\tc d"]}
