"""Cho et al. 2014a, §4.1: until when the phrase scorer and the language model trained, and the
language model's perplexity.
"""

from __future__ import annotations

from papers import bahdanau2015
from papers import phrase_based
from papers.corpora import LANGUAGES
from papers.page import Page, over_seeds
from papers.resampling import Likelihoods, likelihoods_of


def page(work, models) -> Page:
    """How long both networks trained, their losses of the development text, and perplexity."""
    scorer, language_model = models
    losses = {name: measured_losses(work, name) for name in models}
    perplexities = {language_model: measured_perplexities(work, language_model)}
    rows = [
        {
            "model": name,
            "updates to the lowest loss": over_seeds(
                [min(each["curve"], key=each["curve"].get) for each in found]
            ),
            "updates": over_seeds([max(each["curve"]) for each in found]),
            "lowest loss": over_seeds([min(each["curve"].values()) for each in found]),
            "loss of averaged weights": over_seeds([each["average"] for each in found]),
        }
        | {
            f"{part} perplexity": over_seeds([each[part] for each in perplexities[name]])
            if name in perplexities
            else None
            for part in phrase_based.PARTS
        }
        for name, found in losses.items()
    ]
    curves = {
        f"thousands of updates, {name}": {
            f"seed {seed}": (
                [number / 1000 for number in each["curve"]],
                list(each["curve"].values()),
            )
            for seed, each in zip(work.seeds_of(name), found)
        }
        for name, found in losses.items()
    }
    settings = {name: work.config(name, work.seeds[0]).training for name in models}
    limits = "; ".join(
        f"{name}: {each.patience} evaluations, one every {each.evaluate_every:,} updates, or"
        f" {each.maximum_updates:,} updates in all"
        for name, each in settings.items()
    )
    text = [
        "Both networks trained until several evaluations in a row brought no lower loss of their"
        f" development text ({limits}). The loss is in nats per token, end symbols included. The"
        f" scorer's is of {phrase_based.DEVELOPMENT_PAIRS:,} phrase pairs of the table that it did"
        " not learn from. They are of the same captions as the others: their loss says when"
        " learning stops, not how good the scores of other captions would be. The language model's"
        f" loss is of the first {settings[language_model].evaluate_sentences:,} development"
        " captions. The paper's language model trained until ten epochs brought no lower"
        " perplexity, its scorer for about three days.",
        "The scorer learns at a constant rate, and the pages use the average of the weights of its"
        f" last {settings[scorer].average} evaluations. It has a much lower loss, so that a falling"
        " rate might go on lowering it.",
        "Perplexity is per French word of the captions, as lower-cased Moses tokens; the end symbol"
        " is a word, and all unknown words are one. The paper's is of 0.1 % of its text, with"
        " 15,000 words instead of 5,000.",
    ]
    return Page(
        "Cho et al. 2014a, §4.1: the training of both networks",
        rows,
        [{"model": language_model, "development perplexity": 45.80}],
        text,
        {"curves": bahdanau2015.curves_figure(curves, "development loss")},
    )


def measured_losses(work, name) -> list:
    """[{"curve": {updates: development loss}, "average": loss of averaged weights, or None} of each
    seed].
    """
    return [
        each | {"curve": dict(each["curve"])}
        for each in work.of_each_seed("development-losses", name, _losses)
    ]


def _losses(work, name, seed):
    """{"curve": [[updates, development loss]], "average": the loss of averaged weights, or None}"""
    curve = {}
    average = None
    for each in work.development_records(name, seed):
        if each["batches"] in curve:  # of the last weights
            average = each["loss"]
        else:
            curve[each["batches"]] = each["loss"]
    return {"curve": list(curve.items()), "average": average}


def measured_perplexities(work, name) -> list:
    """[{"development", "test": perplexity per word} of each seed of the language model]."""

    def measure(work, name, seed):
        return {
            part: float(Likelihoods(found).perplexity()[0])
            for part, found in _likelihoods(work, name, seed).items()
        }

    return work.of_each_seed("perplexity", name, measure)


def _likelihoods(work, name, seed):
    """{"development", "test": see resampling.likelihoods_of}."""

    def score():
        folder = work.phrase_based()
        found = {}
        for part in phrase_based.PARTS:
            sides = [phrase_based.text(folder, part, language) for language in LANGUAGES]
            scores = work.translator(name, seed).score(*sides, tokenized=True)
            found[part] = likelihoods_of(scores, [len(line.split()) for line in sides[1]])
        return found

    return work.output(f"likelihoods-{name}-{seed}", score)
