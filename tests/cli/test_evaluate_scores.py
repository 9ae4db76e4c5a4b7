"""Every score of `evaluate` is what sacreBLEU gives, signature included, for the text that was
written and the references as they are.
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

from rnnsearch_tf.config import load_config
from rnnsearch_tf.data.phrasebook import phrasebook
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


def write(path, lines):
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def evaluated(rnnsearch, tmp_path, monkeypatch):
    """evaluated(run, words, references: list of lists) → (lines of the report, the written
    translations), of a model that writes TOKENS.
    """

    def evaluate(run, *words, references=(REFERENCES,)):
        lower = load_config(f"{run}/config.yaml").target.lowercase
        flags = ["--source", write(tmp_path / "s", SOURCES), "--output", tmp_path / "t"]
        for number, lines in enumerate(references):
            flags += ["--reference", write(tmp_path / f"r{number}", lines)]

        def translate(self, texts, **search):
            rows = [TOKENS[SOURCES.index(text)] for text in texts]
            rows = [(row.lower() if lower else row).split() for row in rows]
            texts = [sacremoses.MosesDetokenizer("fr").detokenize(row) for row in rows]
            others = dict(source_tokens=["x"], nbest=[])
            return [
                Translation(text, 0.0, 0.0, row, None, None, 1.0, True, **others)
                for text, row in zip(texts, rows)
            ]

        monkeypatch.setattr(Translator, "translate", translate)
        out, _ = rnnsearch("evaluate", "--model", run, *flags, *words)
        return out, (tmp_path / "t").read_text(encoding="utf-8").split("\n")[:-1]

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
    for tokenized, several in itertools.product((False, True), repeat=2):
        references = [REFERENCES, OTHERS] if several else [REFERENCES]
        words = ["--tokenized"] * tokenized + ["--by-length"]
        out, lines = evaluated(run, "--json", *words, references=references)
        report = json.loads(out[0])
        assert report.pop("sentences") == len(SOURCES)
        [group] = report.pop("by_length")
        found = {name: (score["score"], score["signature"]) for name, score in report.items()}
        metrics = {"bleu": sacrebleu.BLEU(), "chrf": sacrebleu.CHRF()}
        wanted = {name: expected(metric, lines, references) for name, metric in metrics.items()}
        if tokenized:
            metric = sacrebleu.BLEU(lowercase=lower, tokenize="none", force=True)
            tokens = [line.lower() if lower else line for line in TOKENS]
            gold = [moses(each, lower) for each in references]
            wanted["tokenized_bleu"] = expected(metric, tokens, gold)
        assert found == wanted, words
        assert (group["bleu"], group["chrf"]) == (wanted["bleu"][0], wanted["chrf"][0])


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_the_program_sacrebleu_says_the_same(evaluated, cased, tmp_path, form):
    """With the files that were written, each reference in a file of its own, also where a reference
    has another Unicode form than the translations.
    """
    references = [
        [unicodedata.normalize(form, line) for line in lines] for lines in (REFERENCES, OTHERS)
    ]
    [out], _ = evaluated(cased, "--json", references=references)
    table, _ = evaluated(cased, "--by-length", references=references)
    report = json.loads(out)
    files = [tmp_path / name for name in ("r0", "r1", "t")]
    command = [sys.executable, "-m", "sacrebleu", *files[:2], "-i", files[2]]
    command += ["-f", "json", "-m", "bleu", "chrf", "-w", "14"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for name, label, score in zip(("bleu", "chrf"), ("BLEU", "chrF2"), json.loads(done.stdout)):
        assert (round(report[name]["score"], 14), report[name]["signature"]) == (
            score["score"],
            score["signature"],
        )
        line = next(line for line in table if line.startswith(f"  {label} "))
        assert line.split()[1:] == [f"{score['score']:.2f}", score["signature"]]
    assert table[0] == f"sentences: {len(SOURCES)}"
    assert table[-1].split()[:2] == ["1-10", str(len(SOURCES))]


def test_lines_of_several_sentences_lose_nothing_as_tokens(evaluated, lower_cased):
    """The translations that the reference has word by word: 100, though `dort. il` of a lower-cased
    line is cut otherwise than `dort. Il`.
    """
    references = [
        "Le chat dort. Il rêve d'un été.",
        "Elle n'est pas là!",
        "Où est la gare? Elle est près d'ici.",
        "Il fait très chaud aujourd'hui.",
        "",
    ]
    words = ("--json", "--tokenized")
    [out], _ = evaluated(lower_cased, *words, references=[references])
    assert json.loads(out)["tokenized_bleu"]["score"] == pytest.approx(100)


def test_text_without_spaces_is_scored_by_characters(rnnsearch, tmp_path):
    """The model says Japanese of its target side."""
    settings = [
        "target.language=ja",
        "target.tokenization=sentencepiece",
        "target.vocabulary_size=90",
    ]
    run = write_run(tmp_path / "run", settings, seed=8, unknown_words=-4.0)
    pairs = zip(*phrasebook(40, "test"))
    sources, references = zip(*(pair for pair in pairs if len(pair[0].split()) < 8))
    files = ["--source", write(tmp_path / "s", sources)]
    files += ["--reference", write(tmp_path / "r", references)]
    output = ["--output", tmp_path / "t"]
    [out], _ = rnnsearch("evaluate", "--model", run, *files, *output, "--json", "--by-length")
    report = json.loads(out)
    translations = (tmp_path / "t").read_text(encoding="utf-8").splitlines()
    wanted = sacrebleu.corpus_bleu(translations, [references], tokenize="char").score
    # the two ways differ on this text
    assert abs(wanted - sacrebleu.corpus_bleu(translations, [references]).score) > 0.1
    assert report["bleu"]["score"] == wanted and "tok:char" in report["bleu"]["signature"]
    [only] = report["by_length"]  # all are short
    assert only["bleu"] == wanted
    out, err = rnnsearch("evaluate", "--model", run, *files, "--tokenized", code=2)
    assert out == [] and "expected a target with spaces between its words, got 'ja'" in err


def test_segmented_text_without_spaces_is_scored_by_characters_and_by_its_tokens(
    rnnsearch, tmp_path
):
    run = write_run(tmp_path / "run", ["target.language=ja", "target.tokenization=space"])
    files = [
        "--source",
        write(tmp_path / "s", ["The cat"]),
        "--reference",
        write(tmp_path / "r", ["猫 は"]),
    ]
    [out], _ = rnnsearch("evaluate", "--model", run, *files, "--tokenized", "--json")
    report = json.loads(out)
    assert "tok:char" in report["bleu"]["signature"]
    assert "tok:none" in report["tokenized_bleu"]["signature"]
