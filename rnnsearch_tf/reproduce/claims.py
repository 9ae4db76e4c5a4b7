"""The papers' claims, a line each: held, not held, or undecided here, with the number that says so.

A claim is a difference that is to be above zero. With several seeds it is held if that is so for every seed, not held if for none, else undecided.
"""

from __future__ import annotations

from rnnsearch_tf.reproduce import bahdanau2015, cho2014, cho2014_figures, monotone, sutskever2014, sutskever2014_figures
from rnnsearch_tf.reproduce.page import Page, over_seeds

FLAT = 0.1
"""The share of its BLEU that a system may lose from the shortest to the longest sentences and still be called flat."""


def claims(work, models) -> Page:
    """Every claim that the measurements speak of.

    Args:
        work: Workspace.
        models: those of bahdanau2015-table1, of sutskever2014-table1, of cho2014-table1.
    """
    rows = [
        {"claim": claim, "paper": paper, "difference": over_seeds(found), "verdict": verdict(found)}
        for claim, paper, found in (*_bahdanau(work, models[:4]), *_sutskever(work, models[4:-2]), *_cho(work, models[-2:]))
    ]
    return Page("The papers' claims", rows, [], [
        "Differences are in BLEU where a claim names no other measure, of one model of each kind for each seed. One seed decides little.",
        f"Flat: from the shortest to the longest sentences of which there are at least {bahdanau2015.ENOUGH}, a system loses at most {FLAT:.0%} of its BLEU.",
    ])  # fmt: skip


def verdict(differences) -> str:
    """Whether differences that are to be above zero are.

    Example:
        >>> verdict([1.0, 2.0, 0.5]), verdict([-1.0]), verdict([1.0, -1.0])
        ('held', 'not held (one seed)', 'undecided')
    """
    above = [difference > 0 for difference in differences]
    found = "held" if all(above) else "undecided" if any(above) else "not held"
    return found if len(above) > 1 else f"{found} (one seed)"


def _bahdanau(work, models):
    paper = "Bahdanau et al. 2015"
    encdec_30, search_30, encdec_50, search_50 = (
        [each["all"] for each in bahdanau2015.measured_bleu(work, name)] for name in models
    )  # fmt: skip
    lengths = {name: bahdanau2015.measured_lengths(work, name) for name in models[2:]}
    encdec_fall, search_fall = ([_fall(buckets) for buckets in found] for found in lengths.values())
    yield "RNNsearch is better than RNNencdec, trained on up to 50 words", paper, _less(search_50, encdec_50)
    yield "… trained on up to 30 words", paper, _less(search_30, encdec_30)
    yield "the gap grows with length: RNNencdec loses more from the shortest to the longest sentences", paper, _less(encdec_fall, search_fall)
    allowed = {name: [FLAT * bahdanau2015.with_enough_sentences(buckets)[0]["bleu"] for buckets in found] for name, found in lengths.items()}
    yield "RNNencdec falls with length: it loses more than a flat system may", paper, _less(encdec_fall, allowed[models[2]])
    yield "RNNsearch is flat: it loses less than it may", paper, _less(allowed[models[3]], search_fall)
    yield "RNNsearch trained on up to 50 words is better than on up to 30", paper, _less(search_50, search_30)
    yield "RNNencdec trained on up to 50 words is better than on up to 30", paper, _less(encdec_50, encdec_30)
    yield "RNNsearch-30 is better than RNNencdec-50", paper, _less(search_30, encdec_50)
    steps = [monotone.shares(each["steps"]) for each in monotone.measured_steps(work, models[3])]
    swaps, further = ([share[kind] for share in steps] for kind in ("one word back", "further back"))
    forward = [0.5 - sum(back) for back in zip(swaps, further)]
    yield "alignments are mostly monotone: share of steps that do not go back, less one half", paper, forward
    yield "steps back are mostly swaps of two words: their share, less that of steps further back", paper, _less(swaps, further)
    phrases = bahdanau2015.measured_phrase_based(work, models)
    yield "RNNsearch trained on up to 50 words is better than the phrase-based system", paper, [score - phrases["all"] for score in search_50]
    yield "… on the captions, each by itself", paper, [each["short"] - phrases["short"] for each in bahdanau2015.measured_bleu(work, models[-1])]


def _sutskever(work, models):
    paper = "Sutskever et al. 2014"
    forward, reversed_, [ensemble] = sutskever2014.measured_systems(work, models).values()
    wide = lambda found: [each["12"] for each in found]  # noqa: E731
    yield "reversing the source helps the LSTM, beam 12", paper, _less(wide(reversed_), wide(forward))
    yield "an ensemble is better than its first model, beam 12", paper, [ensemble["12"] - reversed_[0]["12"]]
    yield "a beam of 2 gives most of the gain of a beam of 12", paper, [2 * each["2"] - each["1"] - each["12"] for each in reversed_]
    states = sutskever2014_figures.measured_states(work, models[1])
    yield "the LSTM's states depend on word order: share, less one half", paper, [each["order"] - 0.5 for each in states]
    yield "they do not depend on voice: share, less one half", paper, [each["voice"] - 0.5 for each in states]


def _cho(work, models):
    paper = "Cho et al. 2014a"
    found = cho2014.measured_rescoring(work, models)
    better = lambda name, other: [each[name]["test"] - each[other]["test"] for each in found]  # noqa: E731
    yield "the RNN Encoder–Decoder's phrase scores add to the table's frequencies", paper, better("RNN", "Baseline")
    yield "… and to the neural language model", paper, better("CSLM + RNN", "CSLM")
    near = [each["near"] - 0.5 for each in cho2014_figures.measured_paraphrases(work, models[0])]
    yield "phrases near in meaning lie near: share of pairs nearer than another with as many words in common, less one half", paper, near


def _fall(buckets):
    """BLEU of the shortest sentences less that of the longest of which there are enough."""
    enough = bahdanau2015.with_enough_sentences(buckets)
    return enough[0]["bleu"] - enough[-1]["bleu"]


def _less(first, second):
    return [one - other for one, other in zip(first, second)]
