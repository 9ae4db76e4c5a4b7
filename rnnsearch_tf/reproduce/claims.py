"""The papers' claims, a line each: held, not held, or undecided here, with the number that says so.

A claim is a difference that is to be above zero. With several seeds it is held if that is so for every seed, not held if for none, else undecided.
"""

from __future__ import annotations

from rnnsearch_tf.reproduce import bahdanau2015, cho2014, sutskever2014
from rnnsearch_tf.reproduce.page import Page, over_seeds

ENOUGH = 50
"""Sentences of a length whose BLEU says something."""


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
    return Page("The papers' claims", rows, [], ["Differences are in BLEU, of one model of each kind for each seed. One seed decides little."])


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
    yield "RNNsearch trained on up to 50 words is better than on up to 30", paper, _less(search_50, search_30)
    yield "RNNencdec trained on up to 50 words is better than on up to 30", paper, _less(encdec_50, encdec_30)
    yield "RNNsearch-30 is better than RNNencdec-50", paper, _less(search_30, encdec_50)
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


def _cho(work, models):
    paper = "Cho et al. 2014a"
    found = cho2014.measured_rescoring(work, models)
    better = lambda name, other: [each[name]["test"] - each[other]["test"] for each in found]  # noqa: E731
    yield "the RNN Encoder–Decoder's phrase scores add to the table's frequencies", paper, better("RNN", "Baseline")
    yield "… and to the neural language model", paper, better("CSLM + RNN", "CSLM")


def _fall(buckets):
    """BLEU of the shortest sentences less that of the longest of which there are enough."""
    enough = [bucket for bucket in buckets if bucket["sentences"] >= ENOUGH] or buckets
    return enough[0]["bleu"] - enough[-1]["bleu"]


def _less(first, second):
    return [one - other for one, other in zip(first, second)]
