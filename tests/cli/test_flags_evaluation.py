"""Every flag of the verbs that measure and draw; see flag_tables.py."""

import json
import types

import numpy as np
import pytest
from flag_tables import (
    GONE,
    MATRIX,
    MODELS,
    SEARCH,
    SOURCE,
    TARGET,
    check,
    complete,
    searches,
    translated,
)


class FakeCalibration:
    """Notes where it is saved."""

    sentences = 2
    source = "s"

    def __init__(self, facts):
        self.facts = facts

    def save(self, run):
        self.facts["saved"] = run.path.name

    def __call__(self, translator, sources, translations):
        from rnnsearch_tf.evaluation.confidence import Confidence

        return [Confidence(number / 4, []) for number in range(len(sources))]


EVALUATE_REPORTS = {
    "--by-length": (["--by-length"], "by_length"),
    "--by-frequency": (["--by-frequency"], "by_frequency_rank"),
    "--by-unknown": (["--by-unknown"], "by_unknown_words"),
    "--search-errors": (["--search-errors", "1,3"], "search_errors"),
    "--bootstrap": (["--bootstrap", "9"], "bootstrap"),
    "--baseline": (["--baseline", "t"], "baseline"),
    "--confidence": (["--confidence"], "confidence"),
    "--calibrate": (["--calibrate"], "confidence"),
}
"""Flags that add a part to the report."""

EVALUATE_SCORES = {"--tokenized": "tokenized_bleu", "--lc-norm-tok": "lc_norm_tok_bleu"}
"""Flags that add a score."""


@pytest.fixture
def evaluation(observe, monkeypatch):
    """A function of flags of evaluate: (what was observed, the JSON report)."""
    from rnnsearch_tf.evaluation.confidence import Calibration

    fitted = FakeCalibration(observe.facts)
    monkeypatch.setattr(Calibration, "fit", lambda *arguments: fitted)
    monkeypatch.setattr(Calibration, "load", lambda run: fitted)
    monkeypatch.setattr(Calibration, "check_enough", lambda *arguments: None)

    def evaluated(*flags, source="s", reference="b"):
        texts = ["--source", source, "--reference", reference]
        found = observe("evaluate", *flags, "--model", "run", *texts, "--json")
        return found, json.loads(found.pop("output")[0])

    return evaluated


def test_evaluate(observe, evaluation, tmp_path):
    elsewhere = {
        *("--source", "--reference", "--test", "--lowercase", "--json", "--translations"),
        *("--output", "--pairs", "--columns"),
    }
    complete("evaluate", SEARCH, MODELS, EVALUATE_REPORTS, EVALUATE_SCORES, elsewhere)
    plain, report = evaluation()
    assert plain["translated"] == translated(nbest=1)
    for flag, (words, key) in EVALUATE_REPORTS.items():
        assert evaluation(*words)[1].keys() == report.keys() | {key}, flag
    for flag, key in EVALUATE_SCORES.items():
        assert evaluation(flag)[1]["all"].keys() == report["all"].keys() | {key}, flag
    searched = evaluation("--search-errors", "1,3")[0]["translated"]
    assert [search.get("beam_size") for _, _, search in searched] == [None, 1, 3]
    baseline = ["--baseline", "t"]
    assert evaluation(*baseline)[1]["baseline"]["test"] == "bootstrap"
    randomized = evaluation(*baseline, "--test", "randomization")[1]
    assert randomized["baseline"]["test"] == "randomization"
    assert evaluation("--calibrate")[0]["saved"] == "run"
    assert "saved" not in evaluation("--confidence")[0]
    assert "case:lc" in evaluation("--lowercase")[1]["all"]["bleu"]["signature"]
    found, other = evaluation(source="t", reference="t")
    assert found["translated"][0][0] == TARGET
    assert other["all"] != report["all"]
    twice = evaluation("--reference", "t")[1]
    assert "nrefs:2" in twice["all"]["bleu"]["signature"]

    rows = zip(SOURCE, TARGET)
    (tmp_path / "table").write_text("".join(f"{source}\t{target}\n" for source, target in rows))
    table = observe("evaluate", "--model", "run", "--pairs", "table", "--columns", "2,1", "--json")
    assert json.loads(table["output"][0])["all"] == evaluation(source="t", reference="s")[1]["all"]
    words = ["evaluate", "--model", "run", "--source", "s", "--reference", "b"]
    found = observe(*words, "--translations", "out")
    assert found["out"] == ["A b"] * 2
    assert not found["output"][0].startswith("{")
    found = observe(*words, "--output", "out", "--json")
    assert found["output"] == []
    assert json.loads(found["out"][0]) == report


def test_evaluate_takes_the_options_of_the_search(evaluation):
    """All but --shortlist at once, as these seconds add up."""
    plain, report = evaluation()
    words = []
    changes = {"nbest": 1}
    for flag, row in SEARCH.items():
        if flag != "--shortlist":
            words += row[0]
            changes |= row[1]
    assert evaluation(*words)[0] == plain | {"translated": translated(**changes)}
    found = evaluation(*MODELS["--combine"][1])
    assert found == (plain | MODELS["--model"][1] | MODELS["--combine"][2], report)
    found, shortened = evaluation("--shortlist", "f", "--batch-size", "9")
    assert [search for _, _, search in found["translated"]] == [
        {"shortlist": "f", "batch_size": 9, "nbest": 1},
        {"shortlist": None, "batch_size": 9, "nbest": 1},
    ]
    assert shortened.keys() == report.keys() | {"without_shortlist"}


def test_oracle(observe, monkeypatch):
    from rnnsearch_tf.evaluation import bleu
    from rnnsearch_tf.extras.moses import oracle

    def choose(lists, references, **rules):
        texts = [[entry.text for entry in entries] for entries in lists]
        observe.facts.update(lists=texts, references=references, rules=rules)
        return ["A b"], ["c"]

    def scored(texts, references, **rules):
        observe.facts.setdefault("scored", []).append((texts, references, rules))
        return types.SimpleNamespace(score=7.0, signature="as always")

    def facts(references=("u v",), tokenize="13a", lowercase=False):
        references = list(references)
        rules = {"tokenize": tokenize, "lowercase": lowercase}
        scores = [(["A b"], references, rules), (["c"], references, rules)]
        return {"references": references, "rules": rules, "scored": scores}

    monkeypatch.setattr(oracle, "choose", choose)
    monkeypatch.setattr(bleu, "bleu", scored)
    plain = check(
        observe,
        "oracle",
        ["--reference", "u", "nbest"],
        {
            "--reference": (["--reference", "f"], facts(["x A"])),
            "--tokenized": (["--tokenized"], facts(tokenize="none")),
            "--target-language": (["--target-language", "zh"], facts(tokenize="zh")),
            "--lowercase": (["--lowercase"], facts(lowercase=True)),
            "--chosen": (["--chosen", "out"], {"out": ["c"]}),
        },
    )
    lines = ["first     7.00  as always", "oracle    7.00  as always"]
    assert plain == facts() | {"lists": [["A b", "c"]], "output": lines}


def test_aer(observe):
    """One sure link, found; one of two found links is right."""
    complete("aer")
    lines = ["AER       0.3333", "precision 0.5000", "recall    1.0000"]
    assert observe("aer", "gold", "found") == {"output": lines}


def test_plot_attention(observe, monkeypatch):
    from rnnsearch_tf.extras.plots import alignment as plots

    drawn = []

    def figure(alignment, source_tokens, target_tokens):
        np.testing.assert_array_equal(alignment, MATRIX)
        drawn.append(f"{' '.join(source_tokens)} | {' '.join(target_tokens)}")
        return drawn[-1]

    monkeypatch.setattr(plots, "alignment_figure", figure)
    monkeypatch.setattr(plots, "png", str.encode)

    def pictures(folder="attention", targets=("A b", "A b")):
        names = [f"{folder}/attention-000{number}.png" for number in (1, 2)]
        texts = [[f"{line} </s> | {text} </s>"] for line, text in zip(SOURCE, targets)]
        return dict(zip(names, texts)) | {"output": names}

    elsewhere = {f"attention/attention-000{number}.png": GONE for number in (1, 2)}
    scored = [(SOURCE, TARGET, None, False)]
    base = ["--model", "run", "s"]
    table = {
        **searches(),
        **MODELS,
        "--output": (["--output", "yours"], elsewhere | pictures("yours")),
        "--target": (
            ["--target", "t"],
            {"translated": GONE, "scored": scored} | pictures(targets=TARGET),
        ),
    }
    plain = check(observe, "plot-attention", base, table, "--source")
    facts = {"models": [["run"]], "combine": "probabilities", "translated": translated()}
    assert plain == facts | {"needs attention": ["plot-attention"]} | pictures()
    assert observe("plot-attention", "--model", "run", "--source", "s") == plain
