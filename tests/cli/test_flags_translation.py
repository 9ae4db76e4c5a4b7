"""Every flag of the verbs that translate, sample, score and align; see flag_tables.py."""

import json
import types

from flag_tables import (
    MODELS,
    SEARCH,
    SOURCE,
    TARGET,
    check,
    compare,
    complete,
    searches,
    translated,
)

NBEST = [
    "0 ||| A b ||| LogProbability= -3.000000 Length= 2 ||| -1.000000",
    "0 ||| c d ||| LogProbability= -4.000000 Length= 2 ||| -2.000000",
    "1 ||| A b ||| LogProbability= -3.000000 Length= 2 ||| -1.000000",
    "1 ||| c d ||| LogProbability= -4.000000 Length= 2 ||| -2.000000",
]


def test_translate(observe, monkeypatch):
    from rnnsearch_tf.evaluation.confidence import Calibration, Confidence

    def sure(translator, sources, translations):
        return [Confidence(0.25, [("A", 0.5), ("b", 0.75)]) for _ in sources]

    monkeypatch.setattr(Calibration, "load", lambda run: sure)
    as_json = {"text": "A b", "score": -1.0, "log_probability": -3.0, "tokens": ["A", "b"]}
    json_lines = [json.dumps(as_json | {"source_tokens": line.split()}) for line in SOURCE]
    paragraphs = [f'{{"text": "A b", "sentences": [{line}]}}' for line in json_lines]
    as_paragraphs = ["--output-type", "json", "--split-sentences"]
    hard = ["--alignment", "hard"]
    one_by_one = [([line], None, {"batch_size": 1}) for line in SOURCE]
    linked = {"needs attention": ["--alignment"], "output": ["A b\t0-1 1-0"] * 2}
    check(
        observe,
        "translate",
        ["--model", "run", "s"],
        {
            **searches(),
            **MODELS,
            "--batch-size": (["--batch-size", "1"], {"translated": one_by_one}),
            "--n-best": (["--n-best", "2"], {"translated": translated(nbest=2), "output": NBEST}),
            "--output-type": (["--output-type", "json"], {"output": json_lines}),
            "--constraints": (
                ["--constraints", "phrases"],
                {"translated": [(SOURCE, [["A", "b"], []], {})]},
            ),
            "--term-marks": (["--term-marks"], {"translated": [(SOURCE, [[], []], {})]}),
            "--alignment": (hard, linked),
            "--pieces": (hard, [*hard, "--pieces"], {}),  # of pieces: below
            "--confidence": (["--confidence"], {"output": ["A b\t0.250\t0.500 0.750"] * 2}),
            "--split-sentences": (as_paragraphs[:2], as_paragraphs, {"output": paragraphs}),
            "--output": (["--output", "out"], {"output": [], "out": ["A b", "A b"]}),
        },
    )
    words = ["translate", "--model", "run"]
    soft = "A b\t[[0.1, 0.8, 0.1], [0.7, 0.2, 0.1], [0.0, 0.0, 1.0]]"
    assert observe(*words, "--alignment", "soft", "s")["output"] == [soft] * 2
    marked = observe(*words, "--term-marks", "marked")
    assert marked["translated"] == [(SOURCE, [["A"], []], {})]
    found = observe(*words, "--n-best", "2", "--output-type", "nbest", "s")
    assert found["output"] == NBEST
    observe.settings["tokenization"] = "sentencepiece"
    assert observe(*words, *hard, "s")["output"] == ["A b\t0-0"] * 2
    assert observe(*words, *hard, "--pieces", "s")["output"] == ["A b\t0-1 1-0"] * 2


def test_translate_corpus(observe, monkeypatch):
    from rnnsearch_tf.extras.bulk import corpus

    names = ["models", "input", "folder", "workers", "beam options", "combine", "search"]
    done = {"files": 2, "translated": 1, "bad_lines": 0}
    monkeypatch.setattr(corpus, "translate_corpus", observe.note(*names, answer=done))
    base = ["--model", "run", "--output", "mine", "--input", "s"]

    def report(folder):
        return {"output": [json.dumps({"output": folder} | done)]}

    plain = check(
        observe,
        "translate-corpus",
        base,
        {
            "--model": (["--model", "other"], {"models": ["other", "run"]}),
            "--combine": MODELS["--combine"],
            "--input": (["--input", "t", "u"], {"input": ["t", "u"]}),
            "--output": (["--output", "yours"], {"folder": "yours", **report("yours")}),
            "--workers": (["--workers", "3"], {"workers": 3}),
            **{flag: (words, {"search": changes}) for flag, (words, changes) in SEARCH.items()},
        },
    )
    values = [["run"], ["s"], "mine", None, None, "probabilities", {}]
    assert plain == dict(zip(names, values)) | report("mine")
    beam = ["--runner=DirectRunner", "--direct_num_workers=2"]
    assert observe("translate-corpus", *base, "--", *beam) == plain | {"beam options": beam}


def test_sample(observe):
    def asked(number=50, temperature=1.0, seed=1):
        return {"sampled": [(SOURCE, number, temperature, seed)]}

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
    plain = check(observe, "sample", [*base, "s"], table, "--sentence", "--source")
    assert plain["output"] == rows
    assert plain["sampled"] == asked()["sampled"]
    assert observe("sample", *base, "--source", "s") == plain
    assert observe("sample", *base, "--sentence", "x y", "--sentence", "z y") == plain


def test_score(observe):
    plain = check(
        observe,
        "score",
        ["--model", "run", "s", "t"],
        {
            **MODELS,
            "--normalize": (["--normalize"], {"output": ["-1.000000"] * 2}),
            "--output": (["--output", "out"], {"output": [], "out": ["-3.000000"] * 2}),
        },
    )
    assert plain["output"] == ["-3.000000"] * 2
    assert plain["scored"] == [(SOURCE, TARGET, None, False)]


def test_rescore(observe):
    def lines(feature="RNN", scores=(-1, -2)):
        form = "0 ||| {} ||| L= {} {}= -3.000000 ||| {}"
        return [form.format("A b", 1, feature, scores[0]), form.format("c", 2, feature, scores[1])]

    def scored(size=256, tokenized=False, source="x y"):
        return {"scored": [([source] * 2, ["A b", "c"], size, tokenized)]}

    weighted = lines(scores=("-2.000000", "-2.500000"))
    plain = check(
        observe,
        "rescore",
        ["--model", "run", "--source", "s", "nbest"],
        {
            **MODELS,
            "--source": (["--source", "t"], scored(source="A b")),
            "--feature": (["--feature", "LM"], {"output": lines("LM")}),
            "--weight": (["--weight", "0.5"], {"output": weighted}),
            "--tokenized": (["--tokenized"], scored(tokenized=True)),
            "--batch-size": (["--batch-size", "7"], scored(7)),
            "--output": (["--output", "out"], {"output": [], "out": lines()}),
        },
    )
    assert plain["scored"] == scored()["scored"]


def test_phrase_table(observe):
    def scored(size):
        return [(["x"], ["A"], size, True)]

    plain = check(
        observe,
        "phrase-table",
        ["--model", "run", "table", "out"],
        {**MODELS, "--batch-size": (["--batch-size", "7"], {"scored": scored(7)})},
    )
    assert plain["scored"] == scored(256)


def test_align(observe):
    def scored(tokenized):
        return {"scored": [(SOURCE, TARGET, None, tokenized)]}

    base = ["--model", "run", "s", "t"]
    links = ["0-1 1-0"] * 2
    table = {
        **MODELS,
        "--tokenized": (["--tokenized"], scored(True)),
        "--output": (["--output", "out"], {"output": [], "out": links}),
    }
    complete("align", table, {"--lexicon", "--soft", "--pieces", "--reverse-model", "--symmetrize"})
    plain = compare(observe, "align", base, table)
    assert plain["output"] == links
    assert plain["scored"] == scored(False)["scored"]
    assert observe("align", "--model", "run", "--lexicon", "ss", "tt")["output"] == ["x b", "y A"]
    soft = [json.loads(line) for line in observe("align", "--soft", *base)["output"]]
    assert [line["target_tokens"] for line in soft] == [["A", "b", "</s>"], ["c", "d", "</s>"]]
    both = ["align", "--reverse-model", "other"]
    found = observe(*both, *base)
    assert found["models"] == [["run"], ["other"]]
    assert found["scored"] == [(SOURCE, TARGET, None, False), (TARGET, SOURCE, None, False)]
    assert found["output"] == links
    assert observe(*both, "--symmetrize", "intersection", *base)["output"] == ["", ""]
    assert observe(*both, "--symmetrize", "union", *base)["output"] == ["0-0 0-1 1-0 1-1"] * 2
    observe.settings["tokenization"] = "sentencepiece"
    assert observe("align", *base)["output"] == ["0-0", "0-0"]
    assert observe("align", "--pieces", *base)["output"] == links


def test_client(observe, monkeypatch):
    from rnnsearch_tf.extras.server import client

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
            line = types.SimpleNamespace(text="A", confidence=None, word_confidences=None)
            if observe.facts["confidence"]:
                line.confidence = 0.25
                line.word_confidences = [0.5]
            return [[line for _ in texts] for texts in batches]

    monkeypatch.setattr(client, "Client", FakeClient)
    monkeypatch.setattr(client, "tls_credentials", lambda *files: files)
    secret = ["--tls-ca", "f", "--tls-certificate", "c", "--tls-key", "k"]
    sure = {"confidence": True, "output": ["A\t0.250\t0.500"] * 2}
    plain = check(
        observe,
        "client",
        ["--server", "h:1", "--model-name", "m", "s"],
        {
            "--server": (["--server", "g:2"], {"server": "g:2"}),
            "--model-name": (["--model-name", "n"], {"name": "n"}),
            "--model-version": (["--model-version", "3"], {"version": 3}),
            "--version-label": (["--version-label", "stable"], {"label": "stable"}),
            "--signature": (["--signature", "translate"], {"signature": "translate"}),
            "--confidence": (["--confidence"], sure),
            "--deadline": (["--deadline", "2.5"], {"deadline": 2.5}),
            "--batch-size": (["--batch-size", "1"], {"batches": [["x y"], ["z y"]]}),
            "--concurrency": (["--concurrency", "9"], {"concurrency": 9}),
            "--tls-ca": (["--tls-ca", "f"], {"credentials": ("f", None, None)}),
            "--tls-certificate": (secret, {"credentials": ("f", "c", "k")}),
            "--tls-key": (secret, {"credentials": ("f", "c", "k")}),
            "--output": (["--output", "out"], {"output": [], "out": ["A", "A"]}),
        },
    )
    assert plain == {
        "server": "h:1",
        "name": "m",
        "version": None,
        "label": None,
        "signature": "serving_default",
        "confidence": False,
        "deadline": 60.0,
        "batches": [SOURCE],
        "concurrency": 4,
        "output": ["A", "A"],
    }
