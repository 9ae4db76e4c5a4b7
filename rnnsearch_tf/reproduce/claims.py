"""The papers' claims, a line each: held, not held, or undecided here, with the number that says so.

A claim is a difference that is to be above zero. With several seeds it is held, or not held, if zero lies outside the 95 % confidence
interval of the mean of their differences (Student's t); else it is undecided. Of one seed the sign is all there is.
"""

from __future__ import annotations

import statistics

from rnnsearch_tf.reproduce import bahdanau2015, cho2014, cho2014_figures, monotone, sutskever2014, sutskever2014_figures
from rnnsearch_tf.reproduce.page import Page, over_seeds

ASKED_HERE = "asked here"

FLAT = 0.1
"""The share of its BLEU that a system may lose from the shortest to the longest sentences and still be called flat."""


def claims(work, models) -> Page:
    """Every claim that the measurements speak of.

    Args:
        work: Workspace.
        models: the five of bahdanau2015-table1, those of sutskever2014-table1, of cho2014-table1.
    """
    rows = [
        {"claim": claim, "paper": paper, "difference": over_seeds(found), "verdict": verdict(found)}
        for claim, paper, found in (*_bahdanau(work, models[:5]), *_sutskever(work, models[5:-2], models[3]), *_cho(work, models[-2:]))
    ]
    return Page("The papers' claims", rows, [], [
        f"Differences are in BLEU where a claim names no other measure, of one model of each kind for each seed. {ASKED_HERE}: no paper says so.",
        "Held and not held: the 95 % confidence interval of the mean difference over the seeds lies above zero, or below. Of one seed there is "
        "only the sign, which decides little; the ensemble is made once.",
        f"Flat: from the shortest to the longest sentences of which there are at least {bahdanau2015.ENOUGH}, a system loses at most {FLAT:.0%} of its BLEU.",
    ])  # fmt: skip


def verdict(differences) -> str:
    """Whether differences that are to be above zero are.

    Example:
        >>> verdict([1.0, 2.0, 1.5]), verdict([-1.0]), verdict([12.0, 3.0, 0.1])
        ('held', 'not held (one seed)', 'undecided')
    """
    if len(differences) == 1:
        return f"{'held' if differences[0] > 0 else 'not held'} (one seed)"
    from scipy.stats import t

    count, mean = len(differences), statistics.mean(differences)
    margin = t.ppf(0.975, count - 1) * statistics.stdev(differences) / count**0.5
    return "held" if mean > margin else "not held" if mean < -margin else "undecided"


def _bahdanau(work, models):
    paper = "Bahdanau et al. 2015"
    measured = {name: bahdanau2015.measured_bleu(work, name, models) for name in models}
    encdec_30, search_30, encdec_50, search_50, [longer] = ([each["all"] for each in found] for found in measured.values())
    lengths = {name: bahdanau2015.measured_lengths(work, name) for name in models[2:4]}
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
    yield "RNNsearch trained on up to 50 words is better for longer training", paper, [longer - search_50[0]]
    steps = [monotone.shares(each["steps"]) for each in monotone.measured_steps(work, models[3])]
    swaps, further = ([share[kind] for share in steps] for kind in ("one word back", "further back"))
    forward = [0.5 - sum(back) for back in zip(swaps, further)]
    yield "alignments are mostly monotone: share of steps that do not go back, less one half", paper, forward
    yield "steps back are mostly swaps of two words: their share, less that of steps further back", ASKED_HERE, _less(swaps, further)
    phrases = bahdanau2015.measured_phrase_based(work, models)
    above = lambda part, name=models[3]: [each[part] - phrases[part] for each in measured[name]]  # noqa: E731
    yield "RNNsearch trained longer is better than the phrase-based system where all words are known", paper, above("no_unk", models[4])
    yield "RNNsearch trained on up to 50 words is better there", ASKED_HERE, above("no_unk")
    yield "… is better on all sentences", ASKED_HERE, above("all")
    yield "… is better on the captions, each by itself", ASKED_HERE, above("short")


def _sutskever(work, models, words):
    paper = "Sutskever et al. 2014"
    forward, reversed_, [ensemble] = sutskever2014.measured_systems(work, models).values()
    wide = lambda found: [each["12"] for each in found]  # noqa: E731
    yield "reversing the source helps the LSTM, beam 12", paper, _less(wide(reversed_), wide(forward))
    members = [sutskever2014.measured_beams(work, [name], work.seeds[0])["12"] for name in models[1:]]
    yield "an ensemble is better than the best of its models, beam 12", paper, [ensemble["12"] - max(members)]
    gain = lambda each: 2 * each["2"] - each["1"] - each["12"]  # noqa: E731
    yield "a beam of 2 gives an ensemble most of the gain of a beam of 12", paper, [gain(ensemble)]
    yield "… and a single model", ASKED_HERE, list(map(gain, reversed_))
    rescored = sutskever2014.measured_rescoring(work, models)
    [alone] = rescored["phrase-based"]
    yield "n-best lists of a phrase-based system are better when the LSTM rescores them", paper, [each - alone for each in rescored["rescored by reversed"]]
    fifths = [[fifth["bleu"] for fifth in each["length"]] for each in sutskever2014_figures.measured_fifths(work, models[1], words)]
    yield "the LSTM is flat up to 35 words: it loses less than it may", paper, [FLAT * first - (first - last) for first, *_, last in fifths]
    states = sutskever2014_figures.measured_states(work, models[1])
    yield "the LSTM's states depend on word order: share, less one half", paper, [each["order"] - 0.5 for each in states]
    yield "they do not depend on voice: share, less one half", paper, [each["voice"] - 0.5 for each in states]


def _cho(work, models):
    paper = "Cho et al. 2014a"
    found = cho2014.measured_rescoring(work, models)
    better = lambda name, other: [each[name]["test"] - each[other]["test"] for each in found]  # noqa: E731
    yield "the RNN Encoder–Decoder's phrase scores add to the table's frequencies", paper, better("RNN", "Baseline")
    yield "… and more than a neural language model does", paper, better("RNN", "CSLM")
    yield "… and to the neural language model", paper, better("CSLM + RNN", "CSLM")
    yield "the word penalty adds to both", paper, better("CSLM + RNN + WP", "CSLM + RNN")
    near = [each["near"] - 0.5 for each in cho2014_figures.measured_paraphrases(work, models[0])]
    yield "phrases near in meaning lie near: share of pairs nearer than another with as many words in common, less one half", paper, near


def _fall(buckets):
    """BLEU of the shortest sentences less that of the longest of which there are enough."""
    enough = bahdanau2015.with_enough_sentences(buckets)
    return enough[0]["bleu"] - enough[-1]["bleu"]


def _less(first, second):
    return [one - other for one, other in zip(first, second)]
