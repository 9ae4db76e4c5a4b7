"""The papers' claims, a line each: held, not held, or undecided here, with the number that says so.

A claim is a difference that is to be above zero. With several seeds it is held if that is so for every seed, not held if for none, else undecided.
"""

from __future__ import annotations

from rnnsearch_tf.reproduce import bahdanau2015, sutskever2014
from rnnsearch_tf.reproduce.page import Page, over_seeds


def claims(work, models) -> Page:
    """Every claim that the measurements speak of.

    Args:
        work: Workspace.
        models: those of bahdanau2015-table1, then those of sutskever2014-table1.
    """
    rows = [
        {"claim": claim, "paper": paper, "difference": over_seeds(found), "verdict": verdict(found)}
        for claim, paper, found in (*_bahdanau(work, models[:4]), *_sutskever(work, models[4:]))
    ]
    text = ["Differences are in BLEU, of one model of each kind for each seed. One seed decides little: BLEU differs by about half a point between seeds."]
    return Page("The papers' claims", rows, [], text)


def verdict(differences) -> str:
    """Whether differences that are to be above zero are.

    Example:
        >>> verdict([1.0, 2.0, 0.5]), verdict([-1.0]), verdict([1.0, -1.0])
        ('held', 'not held', 'undecided')
    """
    above = [difference > 0 for difference in differences]
    return "held" if all(above) else "undecided" if any(above) else "not held"


def _bahdanau(work, models):
    paper = "Bahdanau et al. 2015"
    encdec_30, search_30, encdec_50, search_50 = (
        [each["all"] for each in bahdanau2015.measured_bleu(work, name)] for name in models
    )  # fmt: skip
    lengths = {name: bahdanau2015.measured_lengths(work, name) for name in models[2:]}
    fall = {name: [buckets[0]["bleu"] - buckets[-1]["bleu"] for buckets in found] for name, found in lengths.items()}
    encdec_fall, search_fall = fall.values()
    yield "RNNsearch is better than RNNencdec, trained on up to 50 words", paper, _less(search_50, encdec_50)
    yield "… trained on up to 30 words", paper, _less(search_30, encdec_30)
    yield "the gap grows with length: RNNencdec loses more from the shortest to the longest sentences", paper, _less(encdec_fall, search_fall)
    yield "RNNsearch trained on up to 50 words is better than on up to 30", paper, _less(search_50, search_30)
    yield "RNNencdec trained on up to 50 words is better than on up to 30", paper, _less(encdec_50, encdec_30)
    yield "RNNsearch-30 is better than RNNencdec-50", paper, _less(search_30, encdec_50)


def _sutskever(work, models):
    paper = "Sutskever et al. 2014"
    forward, reversed_, ensemble = sutskever2014.measured_systems(work, models).values()
    yield "reversing the source helps the LSTM, beam 12", paper, [reversed_["12"] - forward["12"]]
    yield "an ensemble is better than one model, beam 12", paper, [ensemble["12"] - reversed_["12"]]
    yield "a beam of 2 gives most of the gain of a beam of 12", paper, [(reversed_["2"] - reversed_["1"]) - (reversed_["12"] - reversed_["2"])]


def _less(first, second):
    return [one - other for one, other in zip(first, second)]
