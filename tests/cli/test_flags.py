"""Every flag of the verbs, in tables written by hand: what it changes on its way to the engine, and nothing else.

The engines are watched in place of computing: a verb is run as users run it, with and without a flag, and what reaches the
engine and the output is compared. The tables have every flag that the parser has.
"""

import dataclasses
import json
import os
import shutil
import types

import numpy as np
import pytest
import yaml

from rnnsearch_tf.cli import launch, main
from rnnsearch_tf.config import SearchConfig, load_config
from rnnsearch_tf.translation import Translator
from rnnsearch_tf.translation.results import Hypothesis, Sample, ScoredPair, Translation

COMMON = {"--help", "--quiet", "--verbose", "--log-file"}
"""Flags of all verbs; test_help.py and test_progress.py have them."""

REPEATED = {"--model", "--reference", "--set", "--mix"}
"""Flags that are given several times."""

SOURCE, TARGET = ["x y", "z y"], ["A b", "c d"]
"""Every sentence has two words."""

MATRIX = np.array([[0.1, 0.8, 0.1], [0.7, 0.2, 0.1], [0.0, 0.0, 1.0]], np.float32)


class FakeTranslator:
    """Notes what it is asked for; its answers are always the same."""

    def __init__(self, facts, runs, combine, texts, settings):
        self.name = [os.path.basename(str(run)) for run in runs]
        texts = texts[::-1] if self.name == ["other"] else texts  # a model of the other direction
        self.facts, self.source_text, self.target_text = facts, *texts
        if settings:
            configs = [dataclasses.replace(text.config, **settings) for text in texts]
            self.source_text, self.target_text = (types.SimpleNamespace(config=config) for config in configs)
        self.config = load_config(overrides=["search.batch_size=4", "model.hidden_size=7"])
        self.model = types.SimpleNamespace(has_attention=True)
        facts.setdefault("models", []).append(self.name)
        facts["combine"] = combine

    def search_config(self, **changes):
        return dataclasses.replace(SearchConfig(batch_size=4), **changes)

    def require_attention(self, purpose):
        self.facts.setdefault("needs attention", []).append(purpose)

    def translate(self, texts, constraints=None, **search):
        if texts:
            self.facts.setdefault("translated", []).append((list(texts), constraints, search))
        nbest = [
            Hypothesis("A b", -1.0, -3.0, ["A", "b"], MATRIX), Hypothesis("c d", -2.0, -4.0, ["c", "d"], MATRIX),
        ][: search.get("nbest", 1)]
        return [Translation(**vars(nbest[0]), source_tokens=text.split()[:2], nbest=nbest) for text in texts]

    def score_targets(self, sources, targets, batch_size=None, tokenized=False):
        self.facts.setdefault("scored", []).append((list(sources), list(targets), batch_size, tokenized))
        alignment = MATRIX[:, [1, 0, 2]] if self.name == ["other"] else MATRIX
        return [
            ScoredPair(-3.0, np.full(len(target.split()) + 1, -1.0), source.split(), target.split(), alignment, 1)
            for source, target in zip(sources, targets)
        ]

    def score(self, sources, targets, batch_size=None, tokenized=False):
        return [pair.log_probability for pair in self.score_targets(sources, targets, batch_size, tokenized)]

    def sample(self, texts, number, temperature=1.0, seed=1):
        self.facts.setdefault("sampled", []).append((list(texts), number, temperature, seed))
        return [[Sample("A", -2.0, ["A"]), Sample("b", -1.0, ["b"]), Sample("A", -2.0, ["A"])] for _ in texts]


@pytest.fixture
def observe(tmp_path, monkeypatch, capsys, run_folder, translator):
    """A function of a command's words that gives what was observed; files are named by their names in a folder of its own."""
    texts = translator.source_text, translator.target_text
    monkeypatch.chdir(tmp_path)
    for name in ("run", "other"):
        os.symlink(run_folder, tmp_path / name)
    files = {
        "s": SOURCE, "t": TARGET, "u": ["u v"], "b": ["A b", "d"], "f": ["x A"], "phrases": ["A\tb", ""],
        "marked": ['<term translation="A">x</term> y', "z y"], "nbest": ["0 ||| A b ||| L= 1 ||| -1", "0 ||| c ||| L= 2 ||| -2"],
        "table": ["x ||| A ||| 0.5"], "ss": ["x y"] * 2, "tt": ["A b"] * 2,
    }  # fmt: skip
    for name, lines in files.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    before = set(os.listdir(tmp_path))
    facts, settings = {}, {}
    load = lambda runs, precision=None, combine="probabilities": FakeTranslator(facts, runs, combine, texts, settings)  # noqa: E731
    monkeypatch.setattr(Translator, "load", load)

    def observed(*words):
        facts.clear()
        assert main.run(list(words)) == 0, capsys.readouterr().err
        facts["output"] = capsys.readouterr().out.splitlines()
        for name in set(os.listdir(tmp_path)) - before:
            path = tmp_path / name
            facts[name] = path.read_text().splitlines()
            path.unlink()
        return dict(facts)

    observed.facts, observed.settings = facts, settings
    return observed


def flags_of(verb):
    return main._parser(verb).option_names - COMMON - {"-h"}


def without_flags_of(words, base):
    """The base command without the flags, and their values, that the words give; all of its flags take one value."""
    given = {word for word in words if word.startswith("--")} - REPEATED
    kept = []
    skip = False
    for word in base:
        if not skip and word not in given:
            kept.append(word)
        skip = not skip and word in given
    return kept


def check(observe, verb, base, table):
    """Each flag changes what its row says, and nothing else; a row is (words, changes), or with the words that it goes with first."""
    assert set(table) == flags_of(verb)
    plain = observe(verb, *base)
    for flag, row in table.items():
        *company, words, changes = row
        assert flag in words, flag
        before = observe(verb, *company[0], *base) if company else plain
        found = observe(verb, *words, *without_flags_of(words, base))
        assert found == before | changes, flag
    return plain


def translated(**search):
    return [(SOURCE, None, search)]


NBEST = [
    f"{n} ||| {text} ||| LogProbability= {p} Length= {length} ||| {score}"
    for n in (0, 1)
    for text, p, length, score in (("A b", "-3.000000", 2, "-1.000000"), ("c d", "-4.000000", 2, "-2.000000"))
]

SEARCH = {
    "--beam-size": (["--beam-size", "5"], {"translated": translated(beam_size=5)}),
    "--length-penalty": (["--length-penalty", "0.5"], {"translated": translated(length_penalty=0.5)}),
    "--coverage-penalty": (["--coverage-penalty", "0.2"], {"translated": translated(coverage_penalty=0.2)}),
    "--lexicon": (["--lexicon", "f"], {"translated": translated(lexicon="f")}),
    "--shortlist-frequent": (["--shortlist-frequent", "9"], {"translated": translated(shortlist_frequent=9)}),
    "--shortlist-translations": (["--shortlist-translations", "9"], {"translated": translated(shortlist_translations=9)}),
    "--no-unknown": (["--no-unknown"], {"translated": translated(allow_unknown=False)}),
    "--replace-unknown": (["--replace-unknown"], {"translated": translated(replace_unknown=True)}),
}

MODELS = {
    "--model": (["--model", "other"], {"models": [["other", "run"]]}),
    "--combine": (["--combine", "log_probabilities"], {"combine": "log_probabilities"}),
}


def test_translate(observe, monkeypatch):
    hard = {"needs attention": ["--alignment"], "output": ["A b\t0-1 1-0"] * 2}
    soft = "A b\t[[0.1, 0.8, 0.1], [0.7, 0.2, 0.1], [0.0, 0.0, 1.0]]"
    as_json = {"text": "A b", "score": -1.0, "log_probability": -3.0, "tokens": ["A", "b"]}
    from rnnsearch_tf.evaluation.confidence import Calibration, Confidence

    sure = lambda translator, sources, translations: [Confidence(0.25, [("A", 0.5), ("b", 0.75)]) for _ in sources]  # noqa: E731
    monkeypatch.setattr(Calibration, "load", lambda run: sure)
    check(observe, "translate", ["--model", "run", "s"], {
        **SEARCH, **MODELS,
        "--shortlist": (["--shortlist", "f"], {"translated": translated(shortlist="f")}),
        "--batch-size": (["--batch-size", "1"], {
            "translated": [(["x y"], None, {"batch_size": 1}), (["z y"], None, {"batch_size": 1})]}),
        "--n-best": (["--n-best", "2"], {"translated": translated(nbest=2), "output": NBEST}),
        "--output-type": (["--output-type", "json"], {"output": [
            json.dumps(as_json | {"source_tokens": source.split()}) for source in SOURCE]}),
        "--constraints": (["--constraints", "phrases"], {"translated": [(SOURCE, [["A", "b"], []], {})]}),
        "--term-marks": (["--term-marks"], {"translated": [(SOURCE, [[], []], {})]}),
        "--alignment": (["--alignment", "hard"], hard),
        "--pieces": (["--alignment", "hard"], ["--alignment", "hard", "--pieces"], {}),  # of pieces: below
        "--confidence": (["--confidence"], {"output": ["A b\t0.250\t0.500 0.750"] * 2}),
        "--output": (["--output", "out"], {"output": [], "out": ["A b", "A b"]}),
    })  # fmt: skip
    assert observe("translate", "--model", "run", "--alignment", "soft", "s")["output"] == [soft] * 2
    marked = observe("translate", "--model", "run", "--term-marks", "marked")
    assert marked["translated"] == [(SOURCE, [["A"], []], {})]
    observe.settings["tokenization"] = "sentencepiece"
    words = ["translate", "--model", "run", "--alignment", "hard"]
    assert observe(*words, "s")["output"] == ["A b\t0-0"] * 2
    assert observe(*words, "--pieces", "s")["output"] == ["A b\t0-1 1-0"] * 2
    assert observe("translate", "--model", "run", "--n-best", "2", "--output-type", "nbest", "s")["output"] == NBEST


def test_sample(observe):
    asked = lambda texts=SOURCE, number=50, temperature=1.0, seed=1: {"sampled": [(texts, number, temperature, seed)]}  # noqa: E731
    rows = ["0\t-1.000000\t1\tb", "0\t-2.000000\t2\tA", "1\t-1.000000\t1\tb", "1\t-2.000000\t2\tA"]
    base = ["--model", "run"]
    table = {
        **MODELS,
        "-n": (["-n", "7"], asked(number=7)),
        "--number": (["--number", "8"], asked(number=8)),
        "--temperature": (["--temperature", "0.5"], asked(temperature=0.5)),
        "--top": (["--top", "1"], {"output": rows[::2]}),
        "--seed": (["--seed", "5"], asked(seed=5)),
        "--output": (["--output", "out"], {"output": [], "out": rows}),
    }
    assert set(table) | {"--sentence", "--source"} == flags_of("sample")
    plain = observe("sample", *base, "s")
    assert plain["output"] == rows and plain["sampled"] == asked()["sampled"]
    for flag, (words, changes) in table.items():
        assert observe("sample", *words, *base, "s") == plain | changes, flag
    assert observe("sample", *base, "--source", "s") == plain
    assert observe("sample", *base, "--sentence", "x y", "--sentence", "z y") == plain


def test_score(observe):
    plain = check(observe, "score", ["--model", "run", "s", "t"], {
        **MODELS,
        "--normalize": (["--normalize"], {"output": ["-1.000000"] * 2}),
        "--output": (["--output", "out"], {"output": [], "out": ["-3.000000"] * 2}),
    })  # fmt: skip
    assert plain["output"] == ["-3.000000"] * 2 and plain["scored"] == [(SOURCE, TARGET, None, False)]


def test_rescore(observe):
    line = "0 ||| {} ||| L= {} RNN= -3.000000 ||| {}"
    scored = lambda size=256, tokenized=False: [(["x y"] * 2, ["A b", "c"], size, tokenized)]  # noqa: E731
    plain = check(observe, "rescore", ["--model", "run", "--source", "s", "nbest"], {
        **{flag: row for flag, row in MODELS.items()},
        "--source": (["--source", "t"], {"scored": [(["A b"] * 2, ["A b", "c"], 256, False)]}),
        "--feature": (["--feature", "LM"], {"output": [
            line.format("A b", 1, -1).replace("RNN", "LM"), line.format("c", 2, -2).replace("RNN", "LM")]}),
        "--weight": (["--weight", "0.5"], {"output": [
            line.format("A b", 1, "-2.000000"), line.format("c", 2, "-2.500000")]}),
        "--tokenized": (["--tokenized"], {"scored": scored(tokenized=True)}),
        "--batch-size": (["--batch-size", "7"], {"scored": scored(7)}),
        "--output": (["--output", "out"], {"output": [], "out": [line.format("A b", 1, -1), line.format("c", 2, -2)]}),
    })  # fmt: skip
    assert plain["scored"] == scored()


def test_phrase_table(observe):
    plain = check(observe, "phrase-table", ["--model", "run", "table", "out"], {
        **MODELS, "--batch-size": (["--batch-size", "7"], {"scored": [(["x"], ["A"], 7, True)]}),
    })  # fmt: skip
    assert plain["scored"] == [(["x"], ["A"], 256, True)]


def test_align(observe):
    scored = lambda tokenized: {"scored": [(SOURCE, TARGET, None, tokenized)]}  # noqa: E731
    base = ["--model", "run", "s", "t"]
    elsewhere = {"--lexicon", "--output", "--soft", "--pieces", "--reverse-model", "--symmetrize"}
    table = MODELS | {"--tokenized": (["--tokenized"], scored(True))}
    assert set(table) | elsewhere == flags_of("align")
    plain = observe("align", *base)
    assert plain["output"] == ["0-1 1-0"] * 2 and plain["scored"] == scored(False)["scored"]
    for flag, (words, changes) in table.items():
        assert observe("align", *words, *base) == plain | changes, flag
    assert observe("align", "--model", "run", "--lexicon", "ss", "tt")["output"] == ["x b", "y A"]
    found = observe("align", "--output", "out", *base)
    assert found == plain | {"output": [], "out": plain["output"]}
    soft = [json.loads(line) for line in observe("align", "--soft", *base)["output"]]
    assert [line["target_tokens"] for line in soft] == [["A", "b", "</s>"], ["c", "d", "</s>"]]
    found = observe("align", "--reverse-model", "other", *base)
    assert found["models"] == [["run"], ["other"]]
    assert found["scored"] == [(SOURCE, TARGET, None, False), (TARGET, SOURCE, None, False)]
    assert found["output"] == ["0-1 1-0"] * 2
    found = observe("align", "--reverse-model", "other", "--symmetrize", "intersection", *base)
    assert found["output"] == ["", ""]
    found = observe("align", "--reverse-model", "other", "--symmetrize", "union", *base)
    assert found["output"] == ["0-0 0-1 1-0 1-1"] * 2
    observe.settings["tokenization"] = "sentencepiece"
    assert observe("align", *base)["output"] == ["0-0", "0-0"]
    assert observe("align", "--pieces", *base)["output"] == plain["output"]


def evaluation(observe, *words):
    """(what was observed, the JSON report)."""
    found = observe("evaluate", *words, "--model", "run", "--source", "s", "--reference", "b", "--json")
    return found, json.loads(found.pop("output")[0])


def test_evaluate(observe, monkeypatch):
    from rnnsearch_tf.evaluation.confidence import Calibration, Confidence

    calibration = lambda translator, sources, translations: [Confidence(k / 4, []) for k, _ in enumerate(sources)]  # noqa: E731
    made = types.SimpleNamespace(sentences=2, source="s", save=lambda run: observe.facts.update(saved=run.path.name))
    fitted = type("Fitted", (), {"__call__": staticmethod(calibration)})()
    vars(fitted).update(vars(made))
    monkeypatch.setattr(Calibration, "fit", lambda *arguments: observe.facts.update(fit=arguments[1:]) or fitted)
    monkeypatch.setattr(Calibration, "load", lambda run: fitted)
    monkeypatch.setattr(Calibration, "check_enough", lambda *arguments: None)
    search = {flag: words for flag, (words, _) in SEARCH.items()}
    reports = {
        "--by-length": (["--by-length"], "by_length"),
        "--by-frequency": (["--by-frequency"], "by_frequency_rank"),
        "--by-unknown": (["--by-unknown"], "by_unknown_words"),
        "--search-errors": (["--search-errors", "1,3"], "search_errors"),
        "--bootstrap": (["--bootstrap", "9"], "bootstrap"),
        "--baseline": (["--baseline", "t"], "baseline"),
        "--confidence": (["--confidence"], "confidence"),
        "--calibrate": (["--calibrate"], "confidence"),
    }
    scores = {"--tokenized": "tokenized_bleu", "--lc-norm-tok": "lc_norm_tok_bleu"}
    other = {"--source", "--reference", "--test", "--lowercase", "--json", "--translations", "--output", "--shortlist", "--batch-size"}
    assert {*search, *MODELS, *reports, *scores, *other} == flags_of("evaluate")
    plain, report = evaluation(observe)
    assert plain["translated"] == [(SOURCE, None, {"nbest": 1})]
    words, changes = [], {"nbest": 1}
    for flag in search:  # all at once, as these seconds add up
        words += search[flag]
        changes |= SEARCH[flag][1]["translated"][0][2]
    assert evaluation(observe, *words)[0] == plain | {"translated": [(SOURCE, None, changes)]}
    found = evaluation(observe, *MODELS["--model"][0], *MODELS["--combine"][0])
    assert found == (plain | MODELS["--model"][1] | MODELS["--combine"][1], report)
    for flag, (words, key) in reports.items():
        assert evaluation(observe, *words)[1].keys() == report.keys() | {key}, flag
    for flag, key in scores.items():
        assert evaluation(observe, flag)[1]["all"].keys() == report["all"].keys() | {key}, flag
    found = evaluation(observe, "--search-errors", "1,3")[0]["translated"]
    assert [search.get("beam_size") for _, _, search in found] == [None, 1, 3]
    assert evaluation(observe, "--baseline", "t")[1]["baseline"]["test"] == "bootstrap"
    assert evaluation(observe, "--baseline", "t", "--test", "randomization")[1]["baseline"]["test"] == "randomization"
    assert evaluation(observe, "--calibrate")[0]["saved"] == "run" and "saved" not in evaluation(observe, "--confidence")[0]
    assert "case:lc" in evaluation(observe, "--lowercase")[1]["all"]["bleu"]["signature"]
    found, shortened = evaluation(observe, "--shortlist", "f", "--batch-size", "9")
    searches = [search for _, _, search in found["translated"]]
    assert searches == [
        {"shortlist": "f", "batch_size": 9, "nbest": 1}, {"batch_size": 9, "nbest": 1, "shortlist": None},
    ]  # fmt: skip
    assert shortened.keys() == report.keys() | {"without_shortlist"}
    found = observe("evaluate", "--model", "run", "--source", "s", "--reference", "b", "--translations", "out")
    assert found["out"] == ["A b"] * 2 and found["output"][0][:1] != "{"
    found = observe("evaluate", "--model", "run", "--source", "s", "--reference", "b", "--output", "out", "--json")
    assert found["output"] == [] and json.loads(found["out"][0]) == report
    found = observe("evaluate", "--model", "run", "--source", "t", "--reference", "t", "--json")
    assert found["translated"][0][0] == TARGET and json.loads(found["output"][0])["all"] != report["all"]


TRAIN = ["folder", "resume", "start_from", "new_words", "skip_batch", "distribute"]


def test_train(observe, monkeypatch, tmp_path):
    from rnnsearch_tf.training import run as training

    note = lambda config, *rest: observe.facts.update(config=config, **dict(zip(TRAIN, rest, strict=True)))  # noqa: E731
    monkeypatch.setattr(training, "train", note)
    cluster = {"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(cluster))

    def trained(*words):
        facts = observe("train", *words)
        return {name: facts[name] for name in ("config", *TRAIN)} | {"folder": facts["folder"].name}

    table = {
        "--output": (["--output", "yours"], {"folder": "yours"}),
        "--set": (["--set", "training.seed=5"], {"config": load_config("phrasebook", ["training.seed=5"])}),
        "--distribute": (["--distribute", "mirrored"], {"distribute": "mirrored"}),
    }
    elsewhere = {"--config", "--resume", "--skip-batch", "--from", "--mix", "--new-words"}
    assert set(table) | elsewhere == flags_of("train")
    base = ["--config", "phrasebook", "--output", "mine"]
    plain = trained(*base)
    settings = dict(zip(TRAIN, ["mine", False, None, 0, False, None]))
    assert plain == settings | {"config": load_config("phrasebook")}
    for flag, (words, changes) in table.items():
        assert trained(*words, *without_flags_of(words, base)) == plain | changes, flag
    assert trained(*base, "--distribute", "multi-worker") == plain | {"distribute": "multi-worker"}
    own = load_config("run/config.yaml")
    assert trained("--resume", "--output", "run") == settings | {"config": own, "folder": "run", "resume": True}
    found = trained("--resume", "--skip-batch", "--output", "run", "--set", "training.epochs=9")
    changed = dataclasses.replace(own, training=dataclasses.replace(own.training, epochs=9))
    assert found == settings | {"config": changed, "folder": "run", "resume": True, "skip_batch": True}
    found = trained("--from", "run", "--new-words", "3", "--output", "mine")
    assert found == settings | {"config": own, "start_from": "run", "new_words": 3}
    lines = [f"{number} x" for number in range(40)]
    for name in ("general", "special"):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines[:: 1 if name == "general" else 4]))
    os.unlink("run")
    shutil.copytree(tmp_path / "other", tmp_path / "run")
    tree = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())
    tree["data"] |= dict(corpus="files", train_source="general", train_target="general", phrasebook_size=4000)
    (tmp_path / "run" / "SHA256SUMS").unlink()
    (tmp_path / "run" / "config.yaml").write_text(yaml.safe_dump(tree))
    names = ("train_source", "train_target", "development_source", "development_target")
    text = [word for name in names for word in ("--set", f"data.{name}=special")]
    found = trained("--from", "run", "--mix", "0.5", "--output", "mine", *text)
    assert [corpus.weight for corpus in found["config"].data.corpora] == [1.0, 0.5 * 10 / 40]


def test_export(observe, monkeypatch):
    from rnnsearch_tf.export import writer

    names = ["models", "folder", "version", "profile", "set", "combine"]
    done = types.SimpleNamespace(folder="out/1", bytes=1234, compared=5, cost="a cost", left_out=None)
    note = lambda *words: observe.facts.update(zip(names, words, strict=True)) or done  # noqa: E731
    monkeypatch.setattr(writer, "export_model", note)
    plain = check(observe, "export", ["--model", "run", "--output", "out"], {
        "--model": (["--model", "other"], {"models": ["other", "run"]}),
        "--combine": MODELS["--combine"],
        "--output": (["--output", "yours"], {"folder": "yours"}),
        "--version": (["--version", "7"], {"version": 7}),
        "--profile": (["--profile", "p.yaml"], {"profile": "p.yaml"}),
        "--set": (["--set", "weights=int8", "--set", "temperature=2"], {"set": ["weights=int8", "temperature=2"]}),
    })  # fmt: skip
    del plain["output"]
    assert plain == dict(zip(names, [["run"], "out", None, None, [], "probabilities"]))


def test_client(observe, monkeypatch):
    from rnnsearch_tf.serving import client

    class FakeClient:
        def __init__(self, server, name, **settings):
            observe.facts.update(server=server, name=name, **settings)

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def translate_batches(self, batches, concurrency=1):
            batches = list(batches)
            observe.facts.update(batches=batches, concurrency=concurrency)
            words = [0.5] if observe.facts["confidence"] else None
            line = types.SimpleNamespace(text="A", confidence=0.25 if words else None, word_confidences=words)
            return [[line for _ in texts] for texts in batches]

    monkeypatch.setattr(client, "Client", FakeClient)
    monkeypatch.setattr(client, "tls_credentials", lambda *files: files)
    secret = ["--tls-ca", "f", "--tls-certificate", "c", "--tls-key", "k"]
    plain = check(observe, "client", ["--server", "h:1", "--model-name", "m", "s"], {
        "--server": (["--server", "g:2"], {"server": "g:2"}),
        "--model-name": (["--model-name", "n"], {"name": "n"}),
        "--model-version": (["--model-version", "3"], {"version": 3}),
        "--version-label": (["--version-label", "stable"], {"label": "stable"}),
        "--signature": (["--signature", "translate"], {"signature": "translate"}),
        "--confidence": (["--confidence"], {"confidence": True, "output": ["A\t0.250\t0.500"] * 2}),
        "--deadline": (["--deadline", "2.5"], {"deadline": 2.5}),
        "--batch-size": (["--batch-size", "1"], {"batches": [["x y"], ["z y"]]}),
        "--concurrency": (["--concurrency", "9"], {"concurrency": 9}),
        "--tls-ca": (["--tls-ca", "f"], {"credentials": ("f", None, None)}),
        "--tls-certificate": (secret, {"credentials": ("f", "c", "k")}),
        "--tls-key": (secret, {"credentials": ("f", "c", "k")}),
        "--output": (["--output", "out"], {"output": [], "out": ["A", "A"]}),
    })  # fmt: skip
    assert plain == {
        "server": "h:1", "name": "m", "version": None, "label": None, "signature": "serving_default", "confidence": False,
        "deadline": 60.0, "batches": [SOURCE], "concurrency": 4, "output": ["A", "A"],
    }  # fmt: skip


def test_select(observe, monkeypatch):
    from rnnsearch_tf.data import selection

    names = ["in domain", "files", "share", "texts", "order", "longest", "seed", "rounds", "words"]
    done = types.SimpleNamespace(scores=np.array([0.5, -1.0]), kept=np.array([False, True]), left_out=0, cut_off=-1.0)

    def select(*words):
        found = dict(zip(names, words, strict=True))
        texts = [(text.language, text.tokenization, text.lowercase) for text in found["texts"]]
        observe.facts.update(found | {"texts": texts})
        return done

    monkeypatch.setattr(selection, "select", select)
    base = ["--in-domain-source", "u", "--in-domain-target", "f", "--source", "s", "--target", "t", "--keep", "0.5"]
    kept = {"output": ["kept       1 of 2 pairs (50.0 %)", "left out   0 with an empty side or too long",
                       "cut-off    -1.0000 nats a token"], "o1": ["z y"], "o2": ["c d"]}  # fmt: skip
    both = ["--output-source", "o1", "--output-target", "o2"]
    plain = check(observe, "select", base, {
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
        "--tokenized": (["--tokenized"], {"texts": [("en", "space", True)] * 2}),
        "--source-language": (["--source-language", "de"], {"texts": [("de", "moses", True), ("en", "moses", True)]}),
        "--target-language": (["--target-language", "de"], {"texts": [("en", "moses", True), ("de", "moses", True)]}),
        "--order": (["--order", "4"], {"order": 4}),
        "--rounds": (["--rounds", "2"], {"rounds": 2}),
        "--seed": (["--seed", "5"], {"seed": 5}),
    })  # fmt: skip
    values = [["u", "f"], ["s", "t"], 0.5, [("en", "moses", True)] * 2, 2, None, 1, 1, None]
    assert plain == dict(zip(names, values)) | {"output": ["z y\tc d"]}


def test_init(observe, tmp_path):
    (tmp_path / "a.en").write_text("x y\n" * 150)
    (tmp_path / "a.fr").write_text("A b\n" * 150)

    def written(*words):
        assert main.run(["init", *words, "mine"]) == 0
        config = load_config("mine/config.yaml")
        os.unlink("mine/config.yaml")
        os.rmdir("mine")
        return config

    assert flags_of("init") == {"--source", "--target", "--source-language", "--target-language", "--minutes"}
    base = ["--source", "a.en", "--target", "a.fr"]
    plain = written(*base)
    assert (plain.source.language, plain.target.language, plain.training.maximum_minutes) == ("en", "fr", 60)
    assert [os.path.basename(name) for name in (plain.data.train_source, plain.data.train_target)] == ["a.en", "a.fr"]
    assert written(*base, "--minutes", "7").training.maximum_minutes == 7
    assert written(*base, "--source-language", "de").source.language == "de"
    assert written(*base, "--target-language", "de").target.language == "de"


class FakeJob:
    """Notes what a launcher starts; the first of `ends` is how it ends."""

    ends, started = [], []

    def __init__(self, indices, addresses, words):
        self.started.append((list(indices), len(addresses), words))

    def wait(self, told):
        return self.ends.pop(0)


def test_launch(monkeypatch, tmp_path):
    monkeypatch.setattr(launch, "Job", FakeJob)
    monkeypatch.chdir(tmp_path)
    training = ["train", "--config", "phrasebook", "--output", "mine"]
    worker = [*training, "--distribute", "multi-worker"]

    def started(*words, ends=((0, False),), code=0):
        FakeJob.ends, FakeJob.started = list(ends), []
        monkeypatch.setattr(FakeJob, "ends", list(ends))
        monkeypatch.setattr(FakeJob, "started", [])
        assert main.run(["launch", *words, "--", *training]) == code
        return FakeJob.started

    assert flags_of("launch") == {"--workers", "--hosts", "--index", "--restarts"}
    assert started("--workers", "3") == [([0, 1, 2], 3, worker)]
    assert started("--hosts", "a:1,b:2", "--index", "1") == [([1], 2, worker)]
    lost = [(75, True)] * 9
    assert len(started("--workers", "2", ends=lost, code=75)) == 4  # three more times
    assert len(started("--workers", "2", "--restarts", "1", ends=lost, code=75)) == 2
    assert len(started("--workers", "2", "--restarts", "0", ends=lost, code=75)) == 1


def test_a_worker_that_does_not_end_is_killed_after_two_minutes(monkeypatch):
    """By a clock that runs fast."""
    now, sent = [1000.0], []

    class Process:
        pid, returncode = 1, None

        def poll(self):
            return self.returncode

        def send_signal(self, number):
            sent.append((number, now[0] - 1000))
            if number == launch.signal.SIGKILL:
                self.returncode = -9

    monkeypatch.setattr(launch, "time", types.SimpleNamespace(monotonic=lambda: now[0], sleep=lambda s: now.append(now.pop() + s)))
    job = launch.Job.__new__(launch.Job)
    job.processes, job.everywhere = [Process(), Process()], False
    assert job.wait([launch.signal.SIGTERM]) == (75, False)
    (first, at_once), *_, (last, late) = sent
    assert (first, at_once, last) == (launch.signal.SIGTERM, 0, launch.signal.SIGKILL)
    assert late == pytest.approx(120, abs=0.5)
    assert sum(number == launch.signal.SIGKILL for number, _ in sent) == 2
