"""Intervals and p-values from their definitions, each resample scored by sacreBLEU on its own."""

import random

import numpy as np
import pytest
import sacrebleu

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.evaluation.bleu import ter
from rnnsearch_tf.evaluation.significance import paired_test, confidence_intervals

SAMPLES = 60
SENTENCES = 25
SEED = 12345
"""SEED is sacreBLEU's."""


@pytest.fixture(scope="module")
def systems():
    """(one system, another that is worse, references)."""
    generator = random.Random(4)
    references = [
        " ".join(
            generator.choices(
                "the a Red blue car house , of man dog".split(), k=generator.randint(4, 20)
            )
        )
        for _ in range(SENTENCES)
    ]

    def noisy(rate):
        return [
            " ".join(w if generator.random() > rate else "cat" for w in line.split())
            for line in references
        ]

    return noisy(0.2), noisy(0.5), references


def scores(hypotheses, references, drawn):
    """{metric: its score of each resample}, by sacreBLEU's functions for whole corpora."""
    functions = {
        "bleu": sacrebleu.corpus_bleu,
        "chrf": sacrebleu.corpus_chrf,
        "ter": lambda *texts: sacrebleu.corpus_ter(*texts, case_sensitive=True),
    }

    def pick(lines, rows):
        return [lines[row] for row in rows]

    return {
        name: np.array(
            [score(pick(hypotheses, rows), [pick(references, rows)]).score for rows in drawn]
        )
        for name, score in functions.items()
    }


def test_resamples_without_words_are_said(caplog):
    """Of three lines, the middle one empty, a resample may be of the empty one alone."""
    found = confidence_intervals(["a b c d", "", "e f g h"], ["a b c d", "", "e f g x"], 200)
    assert "bleu" in found and "chrf" not in found
    assert (
        "no confidence interval of chrf: some resamples of these 3 sentences have no words; take"
        " more sentences" in caplog.text
    )


def test_intervals(systems):
    system, _, references = systems
    drawn = np.random.default_rng(SEED).choice(SENTENCES, (SAMPLES, SENTENCES))
    found = confidence_intervals(system, references, SAMPLES)
    for name, values in scores(system, references, drawn).items():
        values = np.sort(values)
        assert found[name]["mean"] == pytest.approx(values.mean(), abs=1e-3)
        # a fortieth away at both ends
        assert found[name]["half_width"] == pytest.approx((values[-2] - values[1]) / 2, abs=1e-3)
        assert f"bs:{SAMPLES}" in found[name]["signature"]


def test_paired_bootstrap(systems):
    system, baseline, references = systems
    drawn = np.random.default_rng(SEED).choice(SENTENCES, (SAMPLES, SENTENCES))
    found = paired_test(system, baseline, references, "bootstrap", SAMPLES)
    whole = [scores(texts, references, [range(SENTENCES)]) for texts in (system, baseline)]
    resampled = [scores(texts, references, drawn) for texts in (system, baseline)]
    for name, result in found.items():
        own, other = (texts[name][0] for texts in whole)
        assert (result["score"], result["baseline"]) == pytest.approx((own, other))
        differences = abs(resampled[0][name] - resampled[1][name])
        above = np.count_nonzero(differences - differences.mean() > abs(own - other))
        assert result["p_value"] == (above + 1) / (SAMPLES + 1)
    assert (
        found["bleu"]["score"] > found["bleu"]["baseline"]
        and found["ter"]["score"] < found["ter"]["baseline"]
    )


def test_a_difference_is_told_from_none(systems):
    system, baseline, references = systems
    other = list(system)
    other[0] = baseline[0]
    other[1] = references[1]
    for test in ("bootstrap", "randomization"):
        assert paired_test(system, baseline, references, test, 200)["bleu"]["p_value"] < 0.02
        assert paired_test(system, other, references, test, 200)["bleu"]["p_value"] > 0.1
    assert (
        "ar:20|"
        in paired_test(system, baseline, references, "randomization", 20)["chrf"]["signature"]
    )


def test_case_counts_in_ter_too(systems):
    _, _, references = systems
    upper = [line.upper() for line in references]
    words = " ".join(references).split()
    assert ter(upper, references, lowercase=True).score == 0
    # commas have no case
    assert ter(upper, references).score == pytest.approx(
        100 * sum(word != "," for word in words) / len(words)
    )
    assert "case:lc" in ter(upper, references, lowercase=True).signature
    assert (
        paired_test(upper, references, references, samples=20, lowercase=True)["ter"]["score"] == 0
    )


def test_unequal_lengths(systems):
    with pytest.raises(UserError, match="got 24 and 25"):
        paired_test(systems[0], systems[1][1:], systems[2])
