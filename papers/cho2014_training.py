"""Cho et al. 2014a, §4.1: until when the phrase scorer and the language model trained, and the
language model's perplexity.
"""

from __future__ import annotations

from papers import bahdanau2015
from papers import phrase_based
from papers.corpora import LANGUAGES
from papers.page import Page, over_seeds
from papers.resampling import Likelihoods


def page(work, models) -> Page:
    """How long both networks trained, their losses of the development text, and perplexity."""
    rows = []
    panels = {}
    for name in models:
        found = work.of_each_seed("development-losses", name, _losses)
        curves = [dict(each) for each in found]
        updates = sorted(set.intersection(*map(set, curves)))
        panels[f"thousands of updates, {name}"] = {
            "development": (
                [number / 1000 for number in updates],
                [[curve[number] for curve in curves] for number in updates],
            )
        }
        lowest = [min(curve.values()) for curve in curves]
        rows.append(
            {
                "model": name,
                "updates to the lowest loss": over_seeds(
                    [min(curve, key=curve.get) for curve in curves]
                ),
                "updates": over_seeds([max(curve) for curve in curves]),
                "lowest development loss": over_seeds(lowest),
            }
            | {f"{part} perplexity": None for part in phrase_based.PARTS}
        )
    perplexities = measured_perplexities(work, models[1])
    for part in phrase_based.PARTS:
        rows[1][f"{part} perplexity"] = over_seeds([each[part] for each in perplexities])
    paper = [{"model": models[1], "development perplexity": 45.80}]
    text = [
        "Both networks trained until three evaluations in a row brought no lower loss of their"
        " development text: for the phrase scorer"
        f" {phrase_based.DEVELOPMENT_PAIRS:,} phrase pairs of the table that it did not learn from,"
        " for the language model the development captions. The loss is in nats per token, end"
        " symbols included.",
        "Perplexity is of the captions' French words per word, as lower-cased Moses tokens; the end"
        " symbol is one, and all unknown words are one word. The paper's is of 0.1 % of its text,"
        " with 15,000 words instead of 5,000.",
    ]
    return Page(
        "Cho et al. 2014a, §4.1: the training of both networks",
        rows,
        paper,
        text,
        {"curves": bahdanau2015.curves_figure(panels, "development loss")},
    )


def _losses(work, name, seed):
    """[[updates, development loss]]; at the end the average of weights has the same updates as the
    last weights, and is left out.
    """
    found = {}
    for each in work.development_records(name, seed):
        found.setdefault(each["batches"], each["loss"])
    return list(found.items())


def measured_perplexities(work, name) -> list:
    """[{"development", "test": perplexity per word} of each seed of the language model]."""

    def measure(work, name, seed):
        return {
            part: float(Likelihoods(found).perplexity()[0])
            for part, found in _likelihoods(work, name, seed).items()
        }

    return work.of_each_seed("perplexity", name, measure)


def _likelihoods(work, name, seed):
    """{"development", "test": see resampling.Likelihoods}."""

    def score():
        folder = work.phrase_based()
        found = {}
        for part in phrase_based.PARTS:
            sides = [phrase_based.text(folder, part, language) for language in LANGUAGES]
            scores = work.translator(name, seed).score(*sides, tokenized=True)
            # 1: the end symbol
            found[part] = [
                [score, len(line.split()) + 1] for score, line in zip(scores, sides[1], strict=True)
            ]
        return found

    return work.output(f"likelihoods-{name}-{seed}", score)
