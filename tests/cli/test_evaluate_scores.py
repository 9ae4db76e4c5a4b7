"""Every score of `evaluate` is what sacreBLEU gives, signature included, for the text that was
written and the references.
"""

import itertools
import json
import subprocess
import sys
import unicodedata

import pytest
import sacrebleu
import sacremoses
from tiny_run import write_run

from rnnsearch_tf.translation import Translation, Translator

TOKENS = [
    "Le chat dort . Il rêve d' un été .",
    "Elle n' est pas là !",
    "Où est la gare ? Elle est près d' ici .",
    "Il fait très chaud aujourd' hui .",
    "",
]
REFERENCES = [
    "Le chat dort. Il rêve de l'été.",
    "Elle n'est pas là.",
    "Où est la gare? Elle est ici.",
    "Il fait chaud aujourd'hui.",
    "Rien.",
]
OTHERS = [
    "le chat dort. il rêve d'un été.",
    "elle n'est pas là!",
    "la gare est près d'ici.",
    "Il fait très chaud.",
    "Rien.",
]
SOURCES = [
    "My house is old.",
    "I see a cat.",
    "My sister sells an old book.",
    "It is hot.",
    "A cat.",
]


@pytest.fixture
def evaluated(rnnsearch, tmp_path, monkeypatch):
    """evaluated(run, words, references: list of lists) → (report, lines of the table, the written
    translations), of a model that writes TOKENS.
    """

    def evaluate(run, *words, references=(REFERENCES,)):
        lower = "lower" in str(run)
        (tmp_path / "s").write_text("".join(line + "\n" for line in SOURCES))
        flags = []
        for number, lines in enumerate(references):
            path = tmp_path / f"r{number}"
            path.write_text("".join(line + "\n" for line in lines))
            flags += ["--reference", path]

        def translate(self, texts, **search):
            rows = [TOKENS[SOURCES.index(text)] for text in texts]
            rows = [(row.lower() if lower else row).split() for row in rows]
            texts = [
                "".join(c for c in sacremoses.MosesDetokenizer("fr").detokenize(row))
                for row in rows
            ]
            return [
                Translation(text, 0.0, 0.0, row, None, source_tokens=["x"], nbest=[])
                for text, row in zip(texts, rows)
            ]

        monkeypatch.setattr(Translator, "translate", translate)
        files = ["--source", tmp_path / "s", *flags, "--translations", tmp_path / "t"]
        out, _ = rnnsearch("evaluate", "--model", run, *files, *words)
        return out, (tmp_path / "t").read_text().split("\n")[:-1]

    return evaluate


@pytest.fixture(scope="module")
def lower_cased(tmp_path_factory):
    return write_run(
        tmp_path_factory.mktemp("lower") / "run", ["target.language=fr", "target.lowercase=true"]
    )


@pytest.fixture(scope="module")
def cased(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("cased") / "run", ["target.language=fr"])


def moses(lines, lower):
    """By sacremoses, without escapes: cut first, then lower-cased, as the model's training text
    was.
    """
    tokens = [
        sacremoses.MosesTokenizer("fr").tokenize(line, return_str=True, escape=False)
        for line in lines
    ]
    return [line.lower() if lower else line for line in tokens]


def expected(metric, lines, references):
    score = metric.corpus_score(lines, references)
    return score.score, str(metric.get_signature())


@pytest.mark.parametrize("lower", [False, True], ids=["cased", "lower-cased"])
def test_every_score_is_sacrebleus(evaluated, lower, request):
    """For each combination of flags."""
    run = request.getfixturevalue("lower_cased" if lower else "cased")
    flags = ("--lowercase", "--tokenized", "--lc-norm-tok", "--bootstrap", "--reference")
    for chosen in itertools.product((False, True), repeat=len(flags)):
        on = dict(zip(flags, chosen))
        references = [REFERENCES, OTHERS] if on["--reference"] else [REFERENCES]
        words = (
            [flag for flag in flags[:3] if on[flag]]
            + ["--by-length"]
            + ["--bootstrap", 9] * on["--bootstrap"]
        )
        out, lines = evaluated(run, "--json", *words, references=references)
        report = json.loads(out[0])
        lowercase = on["--lowercase"]
        found = {
            name: (score["score"], score["signature"])
            for name, score in report["all"].items()
            if name != "sentences"
        }
        metrics = {
            "bleu": sacrebleu.BLEU(lowercase=lowercase),
            "chrf": sacrebleu.CHRF(lowercase=lowercase),
            "ter": sacrebleu.TER(case_sensitive=not lowercase),
        }
        wanted = {name: expected(metric, lines, references) for name, metric in metrics.items()}
        if on["--tokenized"]:
            tokens = [line.lower() if lower else line for line in TOKENS]
            gold = [moses(each, lower) for each in references]
            wanted["tokenized_bleu"] = expected(
                sacrebleu.BLEU(lowercase=lowercase or lower, tokenize="none", force=True),
                tokens,
                gold,
            )
        normtok = found.pop("lc_norm_tok_bleu", None)
        assert found == wanted, words
        assert (normtok is not None) == on["--lc-norm-tok"]
        if normtok:
            assert (
                f"nrefs:{len(references)}|case:lc|eff:no|tok:none" in normtok[1]
                and "|sacremoses:" in normtok[1]
            )
        if on["--bootstrap"]:
            for name, metric in metrics.items():
                score = type(metric)(
                    **(
                        {"case_sensitive": not lowercase}
                        if name == "ter"
                        else {"lowercase": lowercase}
                    )
                ).corpus_score(lines, references, n_bootstrap=9)
                assert report["bootstrap"][name]["mean"] == pytest.approx(score._mean) and report[
                    "bootstrap"
                ][name]["half_width"] == pytest.approx(score._ci)
            assert ("case:lc" in report["bootstrap"]["bleu"]["signature"]) == lowercase
            assert f"nrefs:{len(references)}|bs:9|" in report["bootstrap"]["bleu"]["signature"]
        [group] = report["by_length"]
        assert (group["bleu"], group["chrf"]) == (wanted["bleu"][0], wanted["chrf"][0])


def test_the_program_sacrebleu_says_the_same(evaluated, cased, tmp_path):
    """With the files that were written, each reference in a file of its own."""
    out, _ = evaluated(cased, "--lowercase", "--bootstrap", 20, references=[REFERENCES, OTHERS])
    command = [
        sys.executable,
        "-m",
        "sacrebleu",
        tmp_path / "r0",
        tmp_path / "r1",
        "-i",
        tmp_path / "t",
        "-lc",
        "--chrf-lowercase",
        "-f",
        "json",
        "-m",
        "bleu",
        "chrf",
        "-w",
        "6",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for label, score in zip(("BLEU", "chrF2"), json.loads(done.stdout)):
        line = next(line for line in out if line.startswith(f"  {label} "))
        assert line.split()[1:] == [f"{score['score']:.2f}", score["signature"]]


def test_lines_of_several_sentences_lose_nothing_as_tokens(evaluated, lower_cased):
    """The translations that the reference has word by word: 100, though `dort. il` of a lower-cased
    line is cut otherwise than `dort. Il`.
    """
    [out], _ = evaluated(
        lower_cased,
        "--json",
        "--tokenized",
        "--lowercase",
        references=[
            [
                "Le chat dort. Il rêve d'un été.",
                "Elle n'est pas là!",
                "Où est la gare? Elle est près d'ici.",
                "Il fait très chaud aujourd'hui.",
                "",
            ]
        ],
    )
    assert json.loads(out)["all"]["tokenized_bleu"]["score"] == pytest.approx(100)


def test_references_in_another_normal_form_count_as_the_same(evaluated, cased, tmp_path):
    decomposed = [unicodedata.normalize("NFD", line) for line in REFERENCES]
    changed = sum(map(str.__ne__, decomposed, REFERENCES))
    assert changed == 3
    for words in (
        (),
        ("--tokenized", "--by-length", "--bootstrap", "5"),
        ("--lc-norm-tok", "--lowercase"),
    ):
        (as_is,), _ = evaluated(cased, "--json", *words)
        (formed,), _ = evaluated(cased, "--json", *words, references=[decomposed])
        as_is = json.loads(as_is)
        formed = json.loads(formed)
        said = formed.pop("unicode_form")
        assert formed == as_is and "unicode_form" not in as_is
        assert said == {
            "form": "NFC",
            "changed": [{"file": str(tmp_path / "r0"), "lines": changed}],
        }
    out, _ = evaluated(cased, references=[decomposed])
    assert any(
        f"r0: {changed} line(s) compared in the form that the model writes" in line for line in out
    )


def test_a_baseline_in_another_normal_form_counts_as_the_same(evaluated, cased, tmp_path):
    scores = []
    for form in ("NFC", "NFD"):
        (tmp_path / "other").write_text(
            "".join(unicodedata.normalize(form, line) + "\n" for line in OTHERS)
        )
        [out], _ = evaluated(cased, "--json", "--baseline", tmp_path / "other", "--bootstrap", "5")
        scores.append(json.loads(out)["baseline"])
    assert scores[0] == scores[1] and scores[0]["bleu"]["baseline"] > 0


@pytest.mark.parametrize(
    "words, code, message",
    [
        (
            ["--search-errors", "1"],
            2,
            "--search-errors: expected one --reference, got 2",
        ),
        (["--calibrate"], 2, "--calibrate: expected one --reference"),
        (["--source", "again"], 2, "--source: expected once, got it again"),
        (["--baseline", "x", "--baseline", "y"], 2, "--baseline: expected once, got it again"),
    ],
)
def test_what_one_reference_is_needed_for(rnnsearch, cased, tmp_path, words, code, message):
    for name in ("s", "a", "b"):
        (tmp_path / name).write_text("one\n")
    files = [
        "--source",
        tmp_path / "s",
        "--reference",
        tmp_path / "a",
        "--reference",
        tmp_path / "b",
    ]
    out, err = rnnsearch("evaluate", "--model", cased, *files, *words, code=code)
    assert out == [] and message in err


def test_every_reference_has_as_many_lines(rnnsearch, cased, tmp_path):
    for name, lines in (("s", 2), ("a", 2), ("b", 3)):
        (tmp_path / name).write_text("one\n" * lines)
    _, err = rnnsearch(
        "evaluate",
        "--model",
        cased,
        "--source",
        tmp_path / "s",
        "--reference",
        tmp_path / "a",
        "--reference",
        tmp_path / "b",
        code=1,
    )
    assert f"got 2 in {tmp_path / 's'} and 3 in {tmp_path / 'b'}" in err
