"""Tables by frequency and unknown words, search errors, significance: against sacreBLEU and the
Translator's own scores.
"""

import json
import sys

import numpy as np
import pytest
import sacrebleu
from tiny_run import write_run

from rnnsearch_tf.data.phrasebook import phrasebook
from rnnsearch_tf.evaluation.search_errors import search_errors
from rnnsearch_tf.translation import Translator

COUNT = 23


@pytest.fixture(scope="module")
def text():
    """(sources, references) of the phrasebook, some words of which no model knows."""
    sources, references = (list(side) for side in phrasebook(COUNT, 3, "test"))
    sources[2] = "The xylophone is white, the zebra too."
    references[2] = references[9] = "Le xylophone est blanc."
    references[6] = "Ni l'okapi, ni le tapir, ni le xylophone, ni le zèbre."
    sources[11] = ""
    return sources, references


@pytest.fixture
def report(rnnsearch, run_folder, text, tmp_path):
    """evaluate(words …) → its report and the translations."""

    def evaluate(*words, code=0):
        paths = [tmp_path / name for name in ("s", "r", "t")]
        for path, lines in zip(paths, text):
            path.write_text("".join(line + "\n" for line in lines))
        files = ["--source", paths[0], "--reference", paths[1], "--translations", paths[2]]
        out, err = rnnsearch("evaluate", "--model", run_folder, *files, *words, code=code)
        return (
            (json.loads(out[0]), paths[2].read_text().splitlines())
            if code == 0 and "--json" in words
            else (out, err)
        )

    return evaluate


def ids(translator, side, lines):
    text = getattr(translator, f"{side}_text")
    place = {token: number for number, token in enumerate(text.vocabulary.tokens)}
    return [
        [place.get(token.decode(), 2) for token in row] for row in text.tokenize(lines).to_list()
    ]


def check_scores(group, members, translations, references):
    chosen = [translations[k] for k in members], [[references[k] for k in members]]
    assert group["sentences"] == len(members)
    assert (
        group["bleu"] == sacrebleu.corpus_bleu(*chosen).score
        and group["chrf"] == sacrebleu.corpus_chrf(*chosen).score
    )


def test_groups_of_sentences(report, translator, text):
    found, translations = report("--json", "--by-frequency", "--by-unknown")
    sources, references = text
    unknown = translator.source_text.vocabulary.size
    ranks = [
        np.mean([unknown - 2 if k == 2 else k - 2 for k in row]) if row else 0
        for row in ids(translator, "source", sources)
    ]
    order = sorted(range(COUNT), key=lambda k: ranks[k])
    start = 0
    assert len(found["by_frequency_rank"]) == 5
    for group in found["by_frequency_rank"]:
        members = order[start : start + group["sentences"]]
        assert group["sentences"] in (4, 5)
        assert (group["lowest"], group["highest"]) == pytest.approx(
            (ranks[members[0]], ranks[members[-1]])
        )
        check_scores(group, members, translations, references)
        start += group["sentences"]
    assert start == COUNT
    numbers = [
        row.count(2) + other.count(2)
        for row, other in zip(
            *(ids(translator, *side) for side in (("source", sources), ("target", references)))
        )
    ]
    assert max(numbers) > 3 and 0 in numbers
    for group in found["by_unknown_words"]:
        most = group["most"] if group["most"] is not None else 99
        check_scores(
            group,
            [k for k, n in enumerate(numbers) if group["fewest"] <= n <= most],
            translations,
            references,
        )
    assert sum(group["sentences"] for group in found["by_unknown_words"]) == COUNT
    assert (
        found["by_unknown_words"][-1]["fewest"] == 3
        and found["by_unknown_words"][-1]["most"] is None
    )


def test_search_errors_of_a_run_with_n_best_lists(text, tmp_path):
    translator = Translator.load(write_run(tmp_path / "run", ["search.nbest=3"]))
    sources, references = text
    found = search_errors(translator, sources[:4], references[:4], beam_sizes=[1, 2])
    assert [beam["beam_size"] for beam in found["beams"]] == [1, 2]


@pytest.mark.parametrize(
    "options, maximum, expected",
    [
        ({}, 50, 4),
        ({"minimum_length_ratio": 1.0}, 50, 2),
        ({"maximum_length_ratio": 1.0}, 50, 2),
        ({"maximum_length_ratio": 1.0, "extra_length": 1}, 50, 3),
        ({"no_repeat_ngram": 2}, 50, 3),
        ({}, 5, 2),
    ],
)
def test_references_that_the_search_may_not_write_are_not_compared(
    tmp_path, options, maximum, expected
):
    """No beam could find them, whatever their score."""
    run = write_run(tmp_path / "run", unknown_words=-4.0)
    translator = Translator.load(run, maximum_lengths={"target": maximum})
    sources = ["The door is white."] * 4
    words = [word for word in translator.target_text.vocabulary.tokens[3:] if word.isalpha()]
    references = [
        " ".join(words[k] for k in row)
        for row in ([0, 1, 2, 3, 4], [0, 1], [0, 1, 2, 3, 4, 5, 6, 7, 0, 1], [0, 0, 1, 0, 2, 0])
    ]
    lengths = [len(row) + 1 for row in ids(translator, "target", references)]
    assert lengths == [6, 3, 11, 7] and len(ids(translator, "source", sources)[0]) == 5
    options = {"maximum_length_ratio": 3.0, **options}
    found = search_errors(translator, sources, references, [1], **options)
    assert found["sentences"] == expected
    assert found["beams"][0]["search_errors"] <= expected


def test_search_errors(report, translator, text):
    """The references are what a wide beam finds: a narrow one misses some of them."""
    sources, references = text
    wide = translator.translate(sources, beam_size=8, allow_unknown=False)
    references[:] = [
        w.text if w.tokens and k not in (2, 6, 9) else r
        for k, (w, r) in enumerate(zip(wide, references))
    ]
    limit = translator.config.search.maximum_length_ratio
    source_ids = ids(translator, "source", sources)
    found, _ = report("--json", "--search-errors", "1,8", "--no-unknown")
    known = [
        k
        for k, row in enumerate(ids(translator, "target", references))
        # those that end at the limit have no end symbol, with which they would be too long
        if 2 not in row and sources[k] and len(row) + 1 <= limit * (len(source_ids[k]) + 1)
    ]
    assert found["search_errors"]["sentences"] == len(known) < COUNT
    scores = translator.score([sources[k] for k in known], [references[k] for k in known])
    lengths = [len(row) + 1 for row in ids(translator, "target", [references[k] for k in known])]
    for beam, size in zip(found["search_errors"]["beams"], (1, 8), strict=True):
        translations = translator.translate(sources, beam_size=size, allow_unknown=False)
        power = translator.config.search.length_penalty
        own = [
            translations[k].log_probability
            / (len(translations[k].tokens) + translations[k].alignment[-1].any()) ** power
            for k in known
        ]
        errors = sum(score / n**power > best + 1e-4 for score, n, best in zip(scores, lengths, own))
        assert (beam["beam_size"], beam["search_errors"]) == (size, errors)
        assert beam["share"] == pytest.approx(errors / len(known))
        assert (
            beam["bleu"]
            == sacrebleu.corpus_bleu([t.text for t in translations], [references]).score
        )
    errors = [beam["search_errors"] for beam in found["search_errors"]["beams"]]
    assert errors[0] > errors[1]


def test_ter_intervals_and_a_baseline(report, text, tmp_path):
    baseline = tmp_path / "other"
    baseline.write_text("".join(line + "\n" for line in text[1]))
    found, translations = report("--json", "--bootstrap", 30, "--baseline", baseline)
    assert (
        found["all"]["ter"]["score"]
        == sacrebleu.corpus_ter(translations, [text[1]], case_sensitive=True).score
    )
    assert found["baseline"]["bleu"]["baseline"] == pytest.approx(100)
    assert found["baseline"]["bleu"]["score"] == pytest.approx(found["all"]["bleu"]["score"])
    assert (
        found["baseline"]["ter"]["p_value"] == pytest.approx(1 / 1001)
        and found["baseline"]["test"] == "bootstrap"
    )
    assert (
        abs(found["bootstrap"]["bleu"]["mean"] - found["all"]["bleu"]["score"])
        <= 3 * found["bootstrap"]["bleu"]["half_width"]
    )


def test_a_long_scoring_is_announced(report, monkeypatch):
    assert "scoring" not in report()[1]
    monkeypatch.setattr("rnnsearch_tf.cli.evaluate.LONG_TEXT", 20)
    assert f"scoring {COUNT} translations, " in report()[1]


def test_the_tables_for_people(report, text, tmp_path):
    baseline = tmp_path / "other"
    baseline.write_text("".join(line + "\n" for line in text[1]))
    words = [
        "--by-frequency",
        "--by-unknown",
        "--search-errors",
        1,
        "--bootstrap",
        20,
        "--baseline",
        baseline,
        "--test",
        "randomization",
    ]
    out, _ = report(*words)
    text = "\n".join(out)
    for expected in (
        "  TER",
        "± ",
        "paired randomization",
        "p = ",
        "average rank  sentences",
        "unknown words  sentences",
        "           3+ ",
        "beam size     errors",
    ):
        assert expected in text, expected


@pytest.mark.parametrize(
    "words, code, message",
    [
        (["--search-errors", "1,x"], 2, "--search-errors: expected a whole number"),
        (["--bootstrap", "1"], 2, "--bootstrap"),
        (["--bootstrap", "2200000"], 2, "--bootstrap: expected at most 50,000,000 sentences"),
        (["--test", "bootstrap"], 2, "--test: expected --baseline"),
        (["--baseline", "/dev/null"], 1, "/dev/null: expected 23 translations"),
        (["--search-errors", "1", "--coverage-penalty", "0.2"], 2, "coverage_penalty 0"),
        (
            ["--search-errors", "1", "--shortlist", "pairs"],
            2,
            "--search-errors: expected no search.shortlist, got pairs",
        ),
        (["--output", "no/report"], 1, "no/report: expected a file that can be written"),
        (
            ["--shortlist-frequent", "9"],
            2,
            "search.shortlist_frequent: has no effect with search.shortlist=null",
        ),
        (["--lexicon", "f"], 2, "search.lexicon: has no effect with search.replace_unknown=false"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_translated(
    report, translator, monkeypatch, words, code, message
):
    monkeypatch.setattr(type(translator), "translate", None)
    out, err = report(*words, code=code)
    assert out == [] and message in err and err.count("\n") == 1


def test_a_missing_package_is_said_before_anything_is_translated(report, translator, monkeypatch):
    monkeypatch.setattr(type(translator), "translate", None)
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    out, err = report("--lc-norm-tok", code=1)
    assert out == [] and "BLEU of lc.norm.tok: expected the package sacremoses" in err


def test_the_development_text_is_not_written_over(rnnsearch, tmp_path):
    """Without --source, it is what is read."""
    files = [tmp_path / f"val.{side}" for side in ("en", "fr")]
    settings = [f"data.folder={tmp_path}", "data.corpus=files"]
    for name, file in zip(("source", "target"), files):
        file.write_text("x y\n")
        settings += [f"data.{kind}_{name}={file.name}" for kind in ("train", "development")]
    run = write_run(tmp_path / "run", settings)
    for file in files:
        for flag in ("--translations", "--output"):
            _, err = rnnsearch("evaluate", "--model", run, flag, file, code=2)
            assert f"{file}: expected another file than the input" in err
            assert file.read_text() == "x y\n"


def test_the_reference_is_not_written_over(report, tmp_path):
    for name, words in (("s", ()), ("r", ()), ("other", ("--baseline", tmp_path / "other"))):
        (tmp_path / "other").write_text("x\n" * COUNT)
        out, err = report(*words, "--output", tmp_path / name, code=2)
        assert out == [] and f"{name}: expected another file than the input" in err
        assert len((tmp_path / name).read_text().splitlines()) == COUNT


def test_a_run_that_lists_several_translations_is_evaluated_by_its_best(rnnsearch, tmp_path, text):
    run = write_run(tmp_path / "run", ["search.nbest=3", "search.beam_size=3"])
    for name, lines in zip("sr", text):
        (tmp_path / name).write_text("".join(line + "\n" for line in lines))
    out, _ = rnnsearch(
        "evaluate",
        "--model",
        run,
        "--source",
        tmp_path / "s",
        "--reference",
        tmp_path / "r",
        "--search-errors",
        "1,2",
        "--beam-size",
        1,
        "--json",
    )
    assert [beam["beam_size"] for beam in json.loads(out[0])["search_errors"]["beams"]] == [1, 2]


def test_text_without_spaces_is_scored_by_characters(rnnsearch, tmp_path, monkeypatch):
    """Every BLEU and TER of the report; the model says Japanese of its target side."""
    monkeypatch.setattr("rnnsearch_tf.cli.evaluate.LONG_TEXT", 20 * COUNT)
    settings = [
        "target.language=ja",
        "target.tokenization=sentencepiece",
        "target.vocabulary_size=90",
    ]
    run = write_run(tmp_path / "run", settings, unknown_words=-4.0)
    sources, references = (list(side) for side in phrasebook(COUNT, 3, "test"))
    for name, lines in (("s", sources), ("r", references)):
        (tmp_path / name).write_text("".join(line + "\n" for line in lines))
    files = [
        "--source",
        tmp_path / "s",
        "--reference",
        tmp_path / "r",
        "--translations",
        tmp_path / "t",
        "--baseline",
        tmp_path / "s",
    ]
    words = ["--json", "--bootstrap", 2, "--by-length", "--by-frequency", "--search-errors", "3"]
    out, err = rnnsearch("evaluate", "--model", run, *files, *words)
    report = json.loads(out[0])
    assert "characters; TER takes a few minutes" in err
    translations = (tmp_path / "t").read_text().splitlines()

    def score(lines):
        return sacrebleu.corpus_bleu(lines, [references], tokenize="char").score

    expected = score(translations)
    assert (
        expected > 1
        and abs(expected - sacrebleu.corpus_bleu(translations, [references]).score) > 0.5
    )
    assert report["all"]["bleu"]["score"] == expected == report["search_errors"]["beams"][0]["bleu"]
    assert report["baseline"]["bleu"]["score"] == expected and report["baseline"]["bleu"][
        "baseline"
    ] == score(sources)
    assert all(
        "tok:char" in report[name]["bleu"]["signature"] for name in ("all", "bootstrap", "baseline")
    )
    spaced = [[" ".join(line) for line in lines] for lines in (translations, references)]
    ter = sacrebleu.corpus_ter(spaced[0], [spaced[1]], case_sensitive=True).score
    assert report["all"]["ter"]["score"] == pytest.approx(ter)
    assert report["baseline"]["ter"]["score"] == pytest.approx(ter)
    monkeypatch.setattr(Translator, "translate", None)
    out, err = rnnsearch("evaluate", "--model", run, *files[:4], "--tokenized", code=2)
    assert out == [] and err.count("\n") == 1 and "set tokenization" not in err
    assert "--tokenized: expected a target with spaces between its words, got 'ja'" in err
    [only] = report["by_length"]  # all are short
    assert only["bleu"] == expected and all(
        group["bleu"] > 1 for group in report["by_frequency_rank"]
    )
