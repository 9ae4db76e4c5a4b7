"""Confidence: the regressions against known answers and a finite-difference optimum, and the way
from evaluate to translate.
"""

import errno
import json
import os
import types

import numpy as np
import pytest
import sacrebleu
from tiny_run import write_run

from rnnsearch_tf.cli.main import run as rnnsearch
from rnnsearch_tf.config import SPECIAL_TOKENS, TextConfig, load_config
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.data.phrasebook import phrasebook
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.evaluation.confidence import Calibration, agreement
from rnnsearch_tf.export.confidence import confidences
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.text.pipeline import Text, strings
from rnnsearch_tf.text.vocabulary import Vocabulary
from rnnsearch_tf.translation import Translator
from rnnsearch_tf.translation.loading import load_run


def objective(weights, features, target, ridge=1e-3):
    p = 1 / (1 + np.exp(-features @ weights))
    return (target * np.log(p) + (1 - target) * np.log(1 - p)).sum() - ridge * (
        weights @ weights
    ) / 2


class Scorer:
    """In place of a Translator: it has translated to these tokens with these log-probabilities, the
    end symbol's last.
    """

    def __init__(self, tokens, logs, **options):
        self.tokens = tokens
        self.logs = logs
        self.target_text = Text(
            TextConfig(language="fr", **options), Vocabulary([*SPECIAL_TOKENS, "a"])
        )

    def score_targets(self, sources, targets):
        return [
            types.SimpleNamespace(target_tokens=tokens, token_log_probabilities=np.asarray(logs))
            for tokens, logs in zip(self.tokens, self.logs, strict=True)
        ]


def of_whole_words(texts, logs):
    """(Scorer, features of all words [N, 3], features of the sentences [S, 4]) where each word is a
    token, from the formulas.
    """
    words = []
    sentences = []
    for row in map(np.asarray, logs):
        words += [[1, log, row.mean()] for log in row[:-1]]
        sentences.append([1, row.mean(), row.min(), np.log(len(row))])
    return Scorer([text.split() for text in texts], logs), np.array(words), np.array(sentences)


def hits_of(texts, references):
    """For each word 1.0 where the reference has it as often as the text has it up to there."""
    hits = []
    for text, reference in zip(texts, references):
        words = text.split()
        hits += [
            float(words[: place + 1].count(word) <= reference.split().count(word))
            for place, word in enumerate(words)
        ]
    return np.array(hits)


def is_at_its_maximum(weights, features, target):
    best = objective(np.array(weights), features, target)
    for change in np.eye(len(weights)) * 1e-3:
        assert best > max(
            objective(weights + change, features, target),
            objective(weights - change, features, target),
        )


def test_the_regressions_are_at_their_maximum():
    """Words come several times; how often the reference has them decides, and the chrF is
    sacreBLEU's.
    """
    generator = np.random.default_rng(3)
    sides = []
    for _ in range(2):
        sides.append(
            [
                " ".join(
                    generator.choice(["a", "the", "dog", "barks", "and"], generator.integers(1, 9))
                )
                for _ in range(60)
            ]
        )
    texts, references = sides
    logs = [-generator.exponential(1.5, len(text.split()) + 1) for text in texts]
    scorer, of_words, of_sentences = of_whole_words(texts, logs)
    found = Calibration.fit(scorer, texts, texts, references, "dev")
    chrf = [
        sacrebleu.sentence_chrf(text, [reference]).score / 100
        for text, reference in zip(texts, references)
    ]
    is_at_its_maximum(found.word, of_words, hits_of(texts, references))
    is_at_its_maximum(found.sentence, of_sentences, np.array(chrf))
    is_at_its_maximum(found.total, of_sentences[:, [0, 1, 3]], np.array(chrf))
    assert (found.sentences, found.source) == (60, "dev")


def test_it_finds_the_weights_that_made_the_data():
    """Whether a reference has a word is drawn with known weights; all words of a text differ."""
    generator = np.random.default_rng(4)
    words = 200
    texts = []
    references = []
    logs = []
    for sentence in range(50):
        row = -generator.exponential(generator.uniform(0.5, 3), words + 1)
        p = 1 / (1 + np.exp(-(2 + 1.5 * row[:-1] + 0.5 * row.mean())))
        names = np.array([f"{number}" for number in range(words)])
        texts.append(" ".join(names))
        references.append(" ".join(names[generator.uniform(size=words) < p]))
        logs.append(row)
    found = Calibration.fit(
        Scorer([text.split() for text in texts], logs), texts, texts, references, "dev"
    )
    np.testing.assert_allclose(found.word, [2, 1.5, 0.5], atol=0.15)


def test_separable_labels_do_not_break_it():
    """A reference has just the words that the model was sure of."""
    texts = ["sure not"] * 50
    references = ["sure"] * 50
    logs = [[-1.0, -3.0, -2.0]] * 50
    scorer, of_words, _ = of_whole_words(texts, logs)
    found = Calibration.fit(scorer, texts, texts, references, "dev")
    assert np.isfinite(found.word).all() and found.word[1] > 2
    is_at_its_maximum(found.word, of_words, hits_of(texts, references))


@pytest.mark.parametrize("of_model", [True, False])
def test_capitals_of_a_reference_do_not_count_where_case_is_ignored(of_model):
    """A model of lower case, or the argument."""
    texts = ["the dog barks", "a cat", "the end"] * 20
    cased = ["The Dog sleeps", "Peter", "THE END"] * 20
    logs = [-np.arange(1.0, len(text.split()) + 2) * (1 + n % 3) for n, text in enumerate(texts)]
    scorer = Scorer([text.split() for text in texts], logs, lowercase=of_model)
    arguments = (scorer, texts, texts, cased, "dev")
    found = Calibration.fit(*arguments) if of_model else Calibration.fit(*arguments, lowercase=True)
    assert found == Calibration.fit(
        scorer, texts, texts, [reference.lower() for reference in cased], "dev"
    )


def test_the_features_of_pieces_are_those_of_words():
    """'▁the ▁c at </s>': log-probabilities by hand; and an empty translation."""
    logs = np.log([0.5, 0.25, 0.5, 0.8])
    calibration = Calibration([0.1, -0.2, 0.3, -0.4], [0.5, 0.6, -0.7], 50, "")
    scorer = Scorer([["▁the", "▁c", "at"], []], [logs, np.log([0.3])])
    found, empty = calibration(scorer, ["a", "b"], ["the cat", ""])

    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    assert found.sentence == pytest.approx(
        sigmoid(0.1 - 0.2 * logs.mean() + 0.3 * np.log(0.25) - 0.4 * np.log(4))
    )
    assert [word for word, _ in found.words] == ["the", "cat"]
    expected = [sigmoid(0.5 + 0.6 * np.log(p) - 0.7 * logs.mean()) for p in (0.5, 0.125)]
    assert [p for _, p in found.words] == pytest.approx(expected)
    assert empty.words == [] and empty.sentence == pytest.approx(sigmoid(0.1 + 0.1 * np.log(0.3)))


@pytest.mark.parametrize("escape", [True, False])
@pytest.mark.parametrize("split_hyphens", [True, False])
def test_words_of_escaped_tokens_keep_their_own_log_probabilities(escape, split_hyphens):
    text = "L'homme bien-aimé [ <unk> dort-il-là &"
    scorer = Scorer(None, None, escape=escape, split_hyphens=split_hyphens)
    ragged = scorer.target_text.tokenize_translations([text])
    [tokens] = strings(ragged)
    logs = -np.arange(1.0, len(tokens) + 2)
    scorer.tokens, scorer.logs = [tokens], [logs]
    counts = [2, 3 if split_hyphens else 1, 1, 1, 5 if split_hyphens else 1, 1]
    assert sum(counts) == len(tokens)
    sums = [part.sum() for part in np.split(logs[:-1], np.cumsum(counts)[:-1])]
    expected = 1 / (1 + np.exp(-(0.5 + 0.1 * np.array(sums) - 0.2 * logs.mean())))
    calibration = Calibration([0.1, -0.2, 0.3, -0.4], [0.5, 0.1, -0.2], 50, "")
    [found] = calibration(scorer, ["a"], [text])
    assert [word for word, _ in found.words] == text.split()
    assert [p for _, p in found.words] == pytest.approx(expected)
    served = confidences(
        calibration, scorer.target_text, logs[np.newaxis].astype("float32"), ragged, [text]
    )
    assert served["words"].numpy()[0].decode() == text
    assert json.loads(served["word_confidences"].numpy()[0]) == pytest.approx(expected, abs=1e-6)


def test_agreement_is_that_of_the_textbook():
    found = agreement([0.1, 0.2, 0.2, 0.9], [0.0, 0.4, 0.2, 0.3])
    assert found["correlation"] == pytest.approx(
        np.corrcoef([0.1, 0.2, 0.2, 0.9], [0.0, 0.4, 0.2, 0.3])[0, 1]
    )
    assert found["rank_correlation"] == pytest.approx(
        np.corrcoef([1, 2.5, 2.5, 4], [1, 4, 2, 3])[0, 1]
    )
    assert agreement([0.5, 0.5], [0.1, 0.2])["correlation"] == 0.0
    assert agreement([0.1] * 3, [0.1, 0.2, 0.4])["correlation"] == 0.0  # their std is not 0


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    """A RUN, and its files of 60 sentences, after `evaluate --calibrate`."""
    folder = tmp_path_factory.mktemp("calibrated")
    run = Run(write_run(folder / "run", seed=18))
    for name, lines in zip(("source", "reference"), phrasebook(60, 1, "development")):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    words = [
        "--model",
        str(run),
        "--source",
        str(folder / "source"),
        "--reference",
        str(folder / "reference"),
    ]
    assert (
        rnnsearch(["evaluate", *words, "--calibrate", "--json", "--output", str(folder / "report")])
        == 0
    )
    return run, folder, words


@pytest.mark.slow
def test_evaluate_says_what_sacrebleu_and_numpy_say(calibrated, capsys):
    run, folder, words = calibrated
    report = json.loads((folder / "report").read_text())["confidence"]
    translator = Translator.load(run)
    sources, references = (
        (folder / name).read_text().splitlines() for name in ("source", "reference")
    )
    texts = [translation.text for translation in translator.translate(sources)]
    answers = Calibration.load(run)(translator, sources, texts)
    chrf = [
        sacrebleu.sentence_chrf(text, [reference]).score / 100
        for text, reference in zip(texts, references)
    ]
    assert report["correlation"] == pytest.approx(
        np.corrcoef([a.sentence for a in answers], chrf)[0, 1], abs=1e-6
    )
    # a regression with a constant is right on the mean
    assert report["mean_confidence"] == pytest.approx(np.mean(chrf), abs=2e-3)
    assert [[word for word, _ in answer.words] for answer in answers] == [
        text.split() for text in texts
    ]
    assert all(0 < p < 1 for answer in answers for _, p in answer.words)
    assert rnnsearch(["evaluate", *words, "--confidence"]) == 0
    assert (
        f"confidence: correlation with sentence chrF {report['correlation']:.3f}"
        in capsys.readouterr().out
    )


def test_evaluate_ignores_case(calibrated, tmp_path, capsys):
    """In references, and in a calibration."""
    run, folder, _ = calibrated
    before = run.confidence.read_bytes()
    reference = (folder / "reference").read_text()
    reports = []
    for name, text in (("lower", reference.lower()), ("upper", reference.upper())):
        (tmp_path / name).write_text(text)
        files = ["--source", str(folder / "source"), "--reference", str(tmp_path / name)]
        words = ["evaluate", "--model", str(run), *files, "--calibrate", "--lowercase", "--json"]
        assert rnnsearch(words) == 0
        reports.append(json.loads(capsys.readouterr().out)["confidence"])
        reports[-1]["weights"] = run.confidence.read_text().replace(name, "")
        run.confidence.write_bytes(before)
    assert reports[0] == reports[1] and reports[0]["mean_chrf"] > 0.05


def test_what_is_missing_or_damaged_is_said(calibrated, tmp_path, capsys):
    run, folder, words = calibrated
    bare = Run(write_run(tmp_path / "run"))
    with pytest.raises(
        UserError,
        match="found none; create it with development text: rnnsearch evaluate --model .*"
        " --calibrate",
    ):
        Calibration.load(bare)
    for text in (
        "[1]",
        "{",
        '{"sentence": "x"}',
        '{"sentence": ["x"], "word": [1], "sentences": 1, "source": ""}',
        '{"sentence": [1], "word": [1, 2, 3], "sentences": 1, "source": ""}',
        '{"sentence": [1, 2, 3, 4], "word": [1], "sentences": 1, "source": ""}',
        '{"sentence": [1, 2, 3, 4], "word": [1, 2, NaN], "sentences": 1, "source": ""}',
        '{"sentence": [1, 2, 3, 4], "word": [1, 2, 3], "total": [1], "sentences": 1, "source": ""}',
        "[" * 100_000,
    ):
        bare.confidence.write_text(text)
        with pytest.raises(UserError, match="expected a file of evaluate --calibrate"):
            Calibration.load(bare)
    with pytest.raises(UserError, match="expected at least 50 sentences to calibrate on, got 2"):
        Calibration.fit(None, ["a", "b"], ["a", "b"], ["a", "b"], "dev.en")
    assert rnnsearch(["evaluate", *words, "--model", str(run), "--confidence"]) == 2
    assert "expected one --model" in capsys.readouterr().err


def test_weights_that_a_training_writes_meanwhile_are_not_calibrated(
    calibrated, tmp_path, monkeypatch, capsys
):
    """The calibration would stand beside weights that it does not belong to."""
    _, folder, _ = calibrated
    run = Run(write_run(tmp_path / "run", seed=18))
    fit = Calibration.fit

    def fit_while_it_trains(translator, *texts):
        found = fit(translator, *texts)
        translator.model.trainable_variables[0].assign_add(
            0.5 + translator.model.trainable_variables[0]
        )
        run.write_weights(translator.model)
        return found

    monkeypatch.setattr(Calibration, "fit", fit_while_it_trains)
    files = ["--source", str(folder / "source"), "--reference", str(folder / "reference")]
    assert rnnsearch(["evaluate", "--model", str(run), *files, "--calibrate"]) == 1
    assert "expected the weights that were evaluated, got others" in capsys.readouterr().err
    assert not run.confidence.exists()


@pytest.mark.slow
def test_it_is_calibrated_on_the_development_text_by_itself(tmp_path, capsys):
    """Without files: the pairs that data.held_out took out of training, none of them a training
    pair.
    """
    sources, references = phrasebook(300, 1, "train")
    for name, lines in (("en", sources), ("fr", references)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    files = [
        "data.corpus=files",
        f"data.train_source={tmp_path}/en",
        f"data.train_target={tmp_path}/fr",
    ]
    run = Run(write_run(tmp_path / "run", [*files, "data.held_out=90"], seed=18))
    assert rnnsearch(["evaluate", "--model", str(run), "--calibrate", "--json"]) == 0
    said = capsys.readouterr()
    pairs = set(open_corpus(load_config(run.config), "train"))
    sentences = json.loads(said.out)["all"]["sentences"]
    assert (
        sentences
        == Calibration.load(run).sentences
        <= len([pair for pair in zip(sources, references) if pair not in pairs])
    )
    assert 60 < sentences < 120
    assert "by which the weights were chosen: expect lower scores on other text" in said.err
    assert rnnsearch(["evaluate", "--model", str(run), "--source", str(tmp_path / "en")]) == 2
    assert "--reference: expected a file, as --source is given" in capsys.readouterr().err
    assert rnnsearch(["evaluate", "--model", str(write_run(tmp_path / "none", files))]) == 2
    assert "trained without a development text" in capsys.readouterr().err
    (tmp_path / "en").unlink()
    assert rnnsearch(["evaluate", "--model", str(run), "--calibrate"]) == 1
    said = capsys.readouterr().err
    assert (
        f"{run}: expected the development text of its training, got: data.train_source:"
        f" {tmp_path}/en: "
        in said
        and "or name --source F" in said
    )


@pytest.mark.slow
def test_translate_shows_it(calibrated, tmp_path, capsys):
    run, folder, _ = calibrated
    lines = [*(folder / "source").read_text().splitlines()[:3], ""]
    text = tmp_path / "text"
    text.write_text("".join(f"{line}\n" for line in lines))
    translator = Translator.load(run)
    answers = Calibration.load(run)(
        translator, lines, [t.text for t in translator.translate(lines)]
    )
    assert rnnsearch(["translate", "--model", str(run), "--confidence", str(text)]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == [t.text for t in translator.translate(lines)]
    assert [float(row[1]) for row in rows] == pytest.approx(
        [answer.sentence for answer in answers], abs=1e-3
    )
    assert [len(row[2].split()) for row in rows] == [len(row[0].split()) for row in rows]
    assert (
        rnnsearch(
            [
                "translate",
                "--model",
                str(run),
                "--confidence",
                "--output-type",
                "json",
                "--n-best",
                "2",
                str(text),
            ]
        )
        == 0
    )
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["confidence"] for record in records] == pytest.approx(
        [answer.sentence for answer in answers], abs=1e-4
    )
    assert [[word for word, _ in record["word_confidences"]] for record in records] == [
        row[0].split() for row in rows
    ]
    assert (
        rnnsearch(
            ["translate", "--model", str(run), "--confidence", "--output-type", "nbest", str(text)]
        )
        == 2
    )
    assert (
        "--confidence: expected one --model and --output-type text or json"
        in capsys.readouterr().err
    )


def test_what_cannot_be_done_is_said_before_anything_is_translated(
    calibrated, tmp_path, monkeypatch, capsys
):
    run, folder, _ = calibrated
    bare = write_run(tmp_path / "bare")
    monkeypatch.setattr(Translator, "translate", lambda *_, **__: pytest.fail("translated"))
    files = ["--source", str(folder / "source"), "--reference", str(folder / "reference")]
    assert rnnsearch(["evaluate", "--model", str(bare), *files, "--confidence"]) == 1
    assert "expected a calibration of the model's confidence, found none" in capsys.readouterr().err
    short = tmp_path / "short"
    short.write_text("a house\n")
    assert (
        rnnsearch(
            [
                "evaluate",
                "--model",
                str(run),
                "--source",
                str(short),
                "--reference",
                str(short),
                "--calibrate",
            ]
        )
        == 1
    )
    assert (
        f"{short}: expected at least 50 sentences to calibrate on, got 1" in capsys.readouterr().err
    )


def test_new_weights_have_no_calibration(tmp_path, monkeypatch):
    def full(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    run = Run(write_run(tmp_path / "run"))
    run.confidence.write_text("{}")
    model, *_ = load_run(run)
    run.write_weights(model, run.weights_after(10))
    assert run.confidence.exists()
    with monkeypatch.context() as patch, pytest.raises(UserError, match="No space left"):
        patch.setattr(model, "save_weights", full)
        run.write_weights(model)
    assert run.confidence.exists()  # the old weights are still there
    run.write_weights(model)
    assert not run.confidence.exists()
