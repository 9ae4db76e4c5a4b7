"""The pages of the reproduced items: what they say was found, and the claims that measurements
decide.
"""

import collections
import dataclasses
import html
import itertools
import json
import re
import types

import numpy as np
import pytest
import sacrebleu
import scipy.stats
from test_reproduce import chosen

from papers import bahdanau2015
from papers import cho2014
from papers import claim
from papers import claims
from papers import items
from papers import sutskever2014
from papers.resampling import Difference, counts_of, verdicts
from papers.page import Page, over_seeds, table
from papers.workspace import Workspace


def test_claims_are_made_after_the_items_that_they_are_about(tmp_path):
    from papers.__main__ import _chosen

    assert list(_chosen("index", "small")) == [*items.CLAIMED, "index"]
    assert Workspace(tmp_path, None).needed(chosen("index")) == []


def test_a_page_has_the_mean_minutes_of_several_seeds(tmp_path):
    """By hand: 2 and 5 minutes; of one seed its own."""
    shown = {}
    for seeds in ([1, 2], [1]):
        work = Workspace(tmp_path, None, seeds=seeds)
        for seed, seconds in zip(seeds, (120.0, 300.0)):
            state = {
                "batches": 1500,
                "epoch": 3,
                "batches_of_epoch": 0,
                "seconds": seconds,
                "recipe": None,
            }
            work.measured(f"trained-lstm-reversed-{seed}", lambda state=state: state)
        item = dataclasses.replace(items.ITEMS["sutskever2014-table1"], models=("lstm-reversed",))
        shown[len(seeds)] = work.made("item", item)["models"]
    assert shown == {
        2: "lstm-reversed 1,500 updates, 3.5 minutes, mean of 2",
        1: "lstm-reversed 1,500 updates, 2.0 minutes",
    }


def test_a_page_says_what_was_found_and_how_it_was_made(tmp_path):
    figure = types.SimpleNamespace(savefig=lambda file, **_: file.write(b"PNG"))
    page = Page(
        "A table",
        [{"model": "a|b", "BLEU": 12.345}],
        [{"model": "paper", "BLEU": 20.0}],
        ["It holds."],
        {"curve": figure},
    )
    path = page.write(tmp_path, "item", {"seeds": "1", "models": "a 2 updates; b"})
    assert (
        path.read_text(encoding="utf-8")
        == "# A table\n\n## Ours\n\n| model | BLEU |\n| --- | --- |\n| a\\|b | 12.35"
        " |\n\n![curve](item-curve.png)\n\n## The paper's\n\n| model | BLEU |\n| --- | --- |\n|"
        " paper | 20.00 |\n\nIt holds.\n\n## How it was made\n\n- seeds: 1\n- models:\n    - a 2"
        " updates\n    - b\n"
    )
    assert (tmp_path / "item-curve.png").read_bytes() == b"PNG"
    assert json.loads((tmp_path / "item.json").read_text(encoding="utf-8"))["ours"] == page.ours


def test_words_of_a_table_mean_nothing_to_markdown():
    """Beside the renderer of the documents' site."""
    markdown = pytest.importorskip("markdown")
    text = "[a] <unk> *b* _c_ `d` | e & \\"
    [shown] = re.findall(
        "<td>(.*)</td>",
        markdown.markdown("\n\n".join(table([{"text": text}])), extensions=["tables"]),
    )
    assert html.unescape(shown) == text and "<" not in shown


def test_seeds_give_mean_and_spread():
    values = [10.0, 11.0, 13.5]
    shares = [0.0612, 0.0633, 0.05]
    counts = [1500, 1500, 1500]
    rows = [
        {
            "a": over_seeds(values),
            "b": over_seeds(shares),
            "c": over_seeds(counts),
            "d": over_seeds([10.0]),
            "e": over_seeds([10.0, None]),
        }
    ]
    assert list(rows[0].values()) == [values, shares, counts, 10.0, None]
    shown = table(rows)[0].splitlines()[-1].strip("| ").split(" | ")
    spread = [
        f"{np.mean(each):.{digits}f} ± {np.std(each, ddof=1):.{digits}f}"
        for each, digits in ((values, 2), (shares, 3))
    ]
    assert shown == [*spread, "1500", "10.00", "–"]
    assert table([]) == []


def test_claims_are_what_the_measurements_say(tmp_path, monkeypatch):
    """Two seeds: RNNsearch is better in both, 50 words help it in one; reversing helps."""
    work = Workspace(tmp_path, None, seeds=[1, 2])
    bleu = {
        "rnnencdec-30": (10, 11),
        "rnnsearch-30": (20, 21),
        "rnnencdec-50": (9, 10),
        "rnnsearch-50": (19, 25),
        "rnnsearch-50-longer": (22,),
    }
    # BLEU, sentences
    by_length = {
        "rnnencdec-50": [(30, 60), (5, 50), (99, 3)],
        "rnnsearch-50": [(32, 60), (30, 50), (1, 3)],
    }
    for name, values in bleu.items():
        for seed, value in zip(work.seeds, values):
            work.measured(
                f"table1-{name}-{seed}",
                lambda value=value: {"all": value, "short": value + 1, "no_unk": value + 5},
            )
            work.measured(
                f"figure2-{name}-{seed}",
                lambda name=name: [
                    {"bleu": score, "sentences": count, "shortest": k, "longest": k + 1}
                    for k, (score, count) in enumerate(by_length.get(name, []))
                ],
            )
    for key, beams in (
        ("1-lstm-forward-1", (20, 22, 23)),
        ("1-lstm-forward-2", (20, 22, 23)),
        ("1-lstm-reversed-1", (21, 23, 25.5)),
        ("1-lstm-reversed-2", (21, 24, 25)),
        ("2-lstm-reversed-1", (24, 25, 27)),
    ):
        work.measured(f"beams-{key}", lambda beams=beams: dict(zip(("1", "2", "12"), beams)))
    for seed, counts, shares in (
        (1, (1, 2, 1, 4, 2), (0.9, 0.0)),
        (2, (3, 3, 0, 4, 0), (0.7, 0.2)),
    ):
        work.measured(
            f"alignment-steps-rnnsearch-50-{seed}",
            lambda counts=counts: {"steps": list(zip((-3, -1, 0, 1, 2), counts))},
        )
        work.measured(
            f"sentence-states-lstm-reversed-{seed}",
            lambda shares=shares: dict(zip(("order", "voice"), shares)),
        )
        work.measured(
            f"paraphrases-phrase-scorer-{seed}", lambda shares=shares: {"near": shares[0] - 0.1}
        )
    work.measured("table1-phrase-based", lambda: {"all": 20, "short": 30, "no_unk": 22})
    work.measured("phrase-based-nbest", lambda: {"first": 50, "oracle": 60})
    for key, score in (
        ("1-lstm-forward-1", 51),
        ("1-lstm-forward-2", 52),
        ("1-lstm-reversed-1", 53),
        ("1-lstm-reversed-2", 54),
        ("2-lstm-reversed-1", 55),
    ):
        work.measured(f"rescored-{key}", lambda score=score: score)
    for seed, rnn in zip(work.seeds, (46, 44)):
        scores = {
            "Baseline": 45,
            "RNN": rnn,
            "CSLM": 46,
            "CSLM + RNN": rnn + 3,
            "CSLM + RNN + WP": rnn + 2,
        }
        for every, more in ((10, 0), (1, 2)):
            scores["RNN"] = rnn + more
            found = {name: {"test": score} for name, score in scores.items()}
            work.measured(f"cho2014-table1-every-{every}-{seed}", lambda found=found: found)
    lines = ["a b c d e", "f g h i j", "k l m n o", "a c e g i", "p q r s t", "u v w x y"]
    other = ["e d c b a", *lines[1:5], "u v w y x"]
    right, wrong = counts_of(lines, lines), counts_of(other, lines)
    kept = {"units": None, "source_lengths": [0, 0, 0, 2, 2, 2], "single_sentences": 6}
    for seed in work.seeds:
        for name, counts in (("translations", right), ("hard-alignment", wrong)):
            work.output(
                f"{name}-rnnsearch-50-{seed}", lambda counts=counts: kept | {"counts": counts}
            )
        for name, counts in (("rnnsearch", right), ("rnnencdec", wrong)):
            words = [25, 40, 60, 80, 100, 150]
            work.output(
                f"documents-documents-{name}-{seed}",
                lambda counts=counts: {"counts": counts, "source_words": words},
            )
    for seed in work.seeds:
        for kind, name, counts in (
            ("captions-1", "lstm-forward", wrong),
            ("captions-1", "lstm-reversed", right),
            ("captions-2", "lstm-reversed", wrong),
            ("rescored-1", "lstm-forward", wrong),
            ("rescored-1", "lstm-reversed", right),
        ):
            found = (
                {"counts": counts}
                if kind == "rescored-1"
                else {
                    "1": {"counts": wrong},
                    "2": {"counts": right},
                    "12": {"counts": counts},
                }
            )
            work.output(f"{kind}-{name}-{seed}", lambda found=found: found)
        variants = {
            name: {"counts": right if name.endswith("RNN") else wrong} for name in cho2014.VARIANTS
        }
        work.output(f"cho2014-table1-every-10-{seed}", lambda found=variants: found)
    work.output("phrase-based-first", lambda: {"counts": wrong})
    generator = np.random.default_rng(7)
    perplexities = {}
    for name in (*items.SUTSKEVER, "lstm-1-layer", "lstm-3-layers"):
        for seed in work.seeds if name in items.SUTSKEVER else [1]:
            logarithms, lengths = -10 * generator.random(6), generator.integers(2, 9, 6)
            work.output(
                f"likelihoods-{name}-{seed}",
                lambda found=[logarithms.tolist(), lengths.tolist()]: list(zip(*found)),
            )
            perplexities[name, seed] = np.exp(-logarithms.sum() / lengths.sum())
            work.measured(
                f"perplexity-{name}-{seed}",
                lambda value=perplexities[name, seed]: float(value),
            )
    below = sacrebleu.corpus_bleu(other, [lines], tokenize="none", force=True).score
    shortest = sacrebleu.corpus_bleu(other[:1], [lines[:1]], tokenize="none", force=True).score
    item = items.ITEMS["index"]
    asked = []
    monkeypatch.setattr(
        work,
        "measured",
        lambda key, measure: asked.append(key) or Workspace.measured(work, key, measure),
    )
    page = item.make(work, item.models)
    rows = page.ours
    of_claims = {key for key in asked if key.startswith(("beams", "perplexity"))}
    assert of_claims
    asked.clear()
    sutskever2014.table_1(work, items.SUTSKEVER)
    assert of_claims <= set(asked), "the item that they are of measures all that claims are made of"
    gap = (
        100 - shortest,
        100 - sacrebleu.corpus_bleu(other[5:], [lines[5:]], tokenize="none", force=True).score,
    )
    expected = [
        [10, 15],
        [10, 10],
        [23, 23],
        [22, 22],
        [1.2, 1.2],
        [gap[1] - gap[0]] * 2,
        [-1, 4],
        [-1, -1],
        [11, 11],
        [3],
        [0.2, -0.1],
        [0.1, 0],  # the last: swaps
        [100 - below] * 2,
        [5],
        [-2, -8],
        [1, -5],
        [-10, -4],
        [2.5, 2],
        [
            perplexities["lstm-forward", seed] - perplexities["lstm-reversed", seed]
            for seed in work.seeds
        ],
        [gap[1]] * 2,
        [10, 10],  # all right, and so flat
        [1.5],
        [-1],
        [-0.5, 2],
        [3, 4],
        [2, 2],
        [0.4, 0.2],
        [-0.5, -0.3],
        [
            min(
                1 - perplexities["lstm-reversed", 1] / perplexities["lstm-1-layer", 1],
                1 - perplexities["lstm-3-layers", 1] / perplexities["lstm-reversed", 1],
            )
        ],
        [1, -1],
        [3, 1],
        [0, -2],
        [3, 1],
        [-1, -1],
        [0.3, 0.1],
    ]
    assert len(rows) == len(expected)
    assert [each["values"] for each in page.numbers["differences"]] == [
        pytest.approx(values) for values in expected
    ]
    of_text = {
        number: scipy.stats.ttest_ind_from_stats(
            np.mean(expected[number]),
            np.std(expected[number], ddof=1) if len(expected[number]) > 1 else 0,
            2,
            0,
            (each["variance over the text"] * each["units of the text"]) ** 0.5,
            each["units of the text"],
            equal_var=False,
        ).pvalue
        for number, each in enumerate(page.numbers["differences"])
        if each["variance over the text"] is not None
    }
    assert sorted(of_text) == [4, 5, 12, *range(17, 30), 31, 32, 33]
    judged = verdicts_by_hand(expected, of_text)
    assert [row["agrees?"] for row in rows] == judged
    for ours, text in ((False, "Claims of the papers"), (True, "Questions of ours, not claimed")):
        counts = collections.Counter(
            verdict
            for verdict, row in zip(judged, rows)
            if row["paper's"].startswith("not claimed") == ours
        )
        assert (
            f"{text}: {counts.total()}, {counts['held']} held, {counts['suggestive']} suggestive,"
            f" {counts['undecided']} undecided, {counts['not held']} not held." in page.text[0]
        )
    assert [float(row["ours"].split()[0]) for row in rows] == [
        pytest.approx(np.mean(values), abs=0.006) for values in expected
    ]
    assert [
        row["claim"].split(" ")[0] for row in rows if row["paper's"].startswith("not claimed")
    ] == [
        "the",  # on paragraphs
        "attention's",
        "RNNsearch-50",  # hard alignment
        "the",  # beside the phrase-based system
        "the",
        "RNNsearch-50",
    ]


def test_kept_translations_give_the_variance_of_the_test_text(tmp_path):
    """Two models that differ in the first word of some lines, and none was drawn with the other:
    the variance is that of BLEU written out for resampled blocks.
    """
    work = Workspace(tmp_path, None)
    blocks = [0] * 5 + [1] * 5 + [2] * 5 + [3] * 5
    references = [f"a{k} b{k} c{k} d{k} e{k % 3}" for k in range(20)]
    wrong = {"rnnencdec-50": (0, 1, 2, 7, 11), "rnnsearch-50": (3,)}
    texts = {
        name: [line[1:] if k in wrong[name] else line for k, line in enumerate(references)]
        for name in wrong
    }
    for name, lines in texts.items():
        kept = {
            "counts": counts_of(lines, references),
            "units": blocks,
            "single_sentences": 20,
            "source_lengths": [5] * 20,
        }
        work.output(f"translations-{name}-1234", lambda kept=kept: kept)

    def bleu(name, lines=range(20)):
        return sacrebleu.corpus_bleu(
            [texts[name][k] for k in lines],
            [[references[k] for k in lines]],
            tokenize="none",
            force=True,
        ).score

    encdec, search = (
        claim.System([bleu(name)], bahdanau2015.kept_counts(work, name)) for name in wrong
    )
    found = claim.between(search, encdec, bahdanau2015.kept_units(work, "rnnsearch-50"))
    differences = []
    # all ways to draw four blocks of four
    for drawn in itertools.product(range(4), repeat=4):
        lines = [5 * block + k for block in drawn for k in range(5)]
        differences.append(bleu("rnnsearch-50", lines) - bleu("rnnencdec-50", lines))
    assert found.values == [bleu("rnnsearch-50") - bleu("rnnencdec-50")]
    assert found.variance == pytest.approx(np.var(differences) * 4 / 3, rel=0.15)
    assert found.units == 4
    lacking = claim.System([1.0], bahdanau2015.kept_counts(work, "rnnsearch-30"))
    assert claim.between(lacking, encdec, blocks).variance is None


def verdicts_by_hand(differences, known=()):
    """By SciPy's two-sided test of whether each mean is zero, and Holm's rule as he states it: from
    the smallest probability on, each is compared with 5 % over the number of those left, until one
    is not below it. `known` has the probabilities of some, by their number.
    """
    probabilities = dict(known)
    for number, values in enumerate(differences):
        if number in probabilities:
            continue
        if np.ptp(values) < 1e-9 and len(values) > 1:
            continue  # equal values do not say how they vary
        elif len(values) > 1:
            probabilities[number] = scipy.stats.ttest_1samp(values, 0).pvalue
    found = ["undecided"] * len(differences)
    left = len(probabilities)
    rejecting = True
    for number, probability in sorted(probabilities.items(), key=lambda each: each[1]):
        mean = np.mean(differences[number])
        rejecting = rejecting and probability < 0.05 / left
        left -= 1
        if rejecting and len(differences[number]) > 1:
            found[number] = "held" if mean > 0 else "not held"
        elif mean > 0 and probability < 0.05:
            found[number] = "suggestive"
    return found


@pytest.mark.parametrize(
    "differences",
    [
        [[0.01, 0.02, 0.01], [12, 3, 0.004], [-1, -1.1, -0.9]],
        [[1, 2, 1.5, 1.2], [1, -1, 0.5], [2, 2.1, 1.9], [3.0], [-3, -2.9, -3.1]],
    ],
)
def test_the_spread_decides(differences):
    assert verdicts(list(map(Difference, differences))) == verdicts_by_hand(differences)


def test_a_page_of_one_seed_needs_one_model_of_each_kind(tmp_path):
    work = Workspace(tmp_path, tmp_path, seeds=[1, 2, 3])
    assert work.untrained(chosen("bahdanau2015-figure3")) == [("rnnsearch-50", 1)]
    assert len(work.untrained(chosen("bahdanau2015-figure3", "bahdanau2015-monotone"))) == 3


def test_no_claim_of_known_words_where_no_sentence_has_known_words_alone(monkeypatch):
    """Table 1 has no BLEU of them then."""
    models = ["a", "b", "c", "d", "e"]
    phrases = {"all": 30.0, "short": 20.0, "no_unk": None}
    for name, value in (
        ("measured_phrase_based", phrases),
        ("kept_counts_of_phrases", []),
        ("kept_single_sentences", 3),
        ("kept_counts", []),
    ):
        monkeypatch.setattr(claims.bahdanau2015, name, lambda *_, value=value: value)
    measured = dict.fromkeys(models, [{"all": 29.0, "short": 22.0, "no_unk": None}])
    found = list(claims._beside_phrases(None, "paper", models, measured, None))
    assert [claim.difference.values for claim in found] == [[1.0], [2.0]]
