"""The papers' claims, one a line: held, not held, or undecided here, with the measured number.

A claim is a difference that is above zero if the claim is true. With several seeds it is held, or
not held, if zero is outside the 95 % confidence interval of the mean difference (Student's t), and
undecided otherwise. With one seed there is only the sign.
"""

from __future__ import annotations

import statistics

from papers import bahdanau2015
from papers import cho2014
from papers import cho2014_figures
from papers import monotone
from papers import sutskever2014
from papers import sutskever2014_figures
from papers.page import Page, over_seeds

ASKED_HERE = "asked here"

FLAT = 0.1
"""The share of BLEU that a flat system may lose from the shortest to the longest sentences."""


def claims(work, models) -> Page:
    """Every claim that the measurements test.

    Args:
        work: Workspace.
        models: the five of bahdanau2015-table1, those of sutskever2014-table1, of cho2014-table1.
    """
    found = [
        *_bahdanau(work, models[:5]),
        *_sutskever(work, models[5:-2], models[3]),
        *_cho(work, models[-2:]),
    ]
    rows = [
        {
            "claim": claim,
            "paper": paper,
            "difference": difference,
            "found": over_seeds(values),
            "verdict": verdict(values),
        }
        for paper, claim, difference, values in found
    ]
    return Page(
        "The papers' claims",
        rows,
        [],
        [
            (
                "A claim is written as a difference, which is above zero if the claim is true."
                f" For each seed, one model of each kind is compared. {ASKED_HERE}: no paper"
                " claims it."
            ),
            (
                "With several seeds a claim is held if the 95 % confidence interval of the mean"
                " difference lies above zero, not held if it lies below, else undecided. With one"
                " seed there is only the sign, which decides little. The ensemble and the model"
                " that is trained longer are made once."
            ),
            (
                "The shortest and the longest sentences are the first and the last length of"
                f" Figure 2 with at least {bahdanau2015.ENOUGH} sentences. Flat: a system that"
                f" loses at most {FLAT:.0%} of its BLEU between them, or between the first and the"
                " last fifth of Figure 3."
            ),
        ],
    )


def verdict(differences) -> str:
    """Whether the mean of the differences is above zero.

    Example:
        >>> verdict([1.0, 2.0, 1.5]), verdict([-1.0]), verdict([12.0, 3.0, 0.1])
        ('held', 'not held (one seed)', 'undecided')
    """
    if len(differences) == 1:
        return f"{'held' if differences[0] > 0 else 'not held'} (one seed)"
    from scipy.stats import t

    count = len(differences)
    mean = statistics.mean(differences)
    margin = t.ppf(0.975, count - 1) * statistics.stdev(differences) / count**0.5
    return "held" if mean > margin else "not held" if mean < -margin else "undecided"


def _bahdanau(work, models):
    paper = "Bahdanau et al. 2015"
    measured = {name: bahdanau2015.measured_bleu(work, name, models) for name in models}
    encdec_30, search_30, encdec_50, search_50, [longer] = (
        [each["all"] for each in found] for found in measured.values()
    )
    lengths = {name: bahdanau2015.measured_lengths(work, name) for name in models[2:4]}
    encdec_fall, search_fall = ([_fall(buckets) for buckets in found] for found in lengths.values())
    yield (
        paper,
        "RNNsearch is better than RNNencdec, trained on up to 50 words",
        "BLEU",
        _less(search_50, encdec_50),
    )
    yield paper, "… trained on up to 30 words", "BLEU", _less(search_30, encdec_30)
    yield (
        paper,
        "the gap between them grows with length",
        "gap on the longest sentences − on the shortest",
        _less(encdec_fall, search_fall),
    )
    allowed = {
        name: [FLAT * bahdanau2015.with_enough_sentences(buckets)[0]["bleu"] for buckets in found]
        for name, found in lengths.items()
    }
    yield (
        paper,
        "RNNencdec falls with length",
        "BLEU that it loses − what a flat system may lose",
        _less(encdec_fall, allowed[models[2]]),
    )
    yield (
        paper,
        "RNNsearch is flat",
        "what a flat system may lose − BLEU that it loses",
        _less(allowed[models[3]], search_fall),
    )
    yield (
        paper,
        "RNNsearch is better trained on up to 50 words than on up to 30",
        "BLEU",
        _less(search_50, search_30),
    )
    yield (
        paper,
        "RNNencdec is better trained on up to 50 words than on up to 30",
        "BLEU",
        _less(encdec_50, encdec_30),
    )
    yield paper, "RNNsearch-30 is better than RNNencdec-50", "BLEU", _less(search_30, encdec_50)
    yield paper, "RNNsearch-50 is better trained longer", "BLEU", [longer - search_50[0]]
    steps = [monotone.shares(each["steps"]) for each in monotone.measured_steps(work, models[3])]
    swaps, further = (
        [share[kind] for share in steps] for kind in ("one word back", "further back")
    )
    forward = [0.5 - sum(back) for back in zip(swaps, further)]
    yield (
        paper,
        "alignments are mostly monotone",
        "½ − share of the steps of attention that go back",
        forward,
    )
    yield (
        ASKED_HERE,
        "steps back are mostly of one word, where two words change places",
        "share of such steps − of steps further back",
        _less(swaps, further),
    )
    phrases = bahdanau2015.measured_phrase_based(work, models)

    def above(part, name=models[3]):
        return [each[part] - phrases[part] for each in measured[name]]

    yield (
        paper,
        "RNNsearch trained longer is better than the phrase-based system where all words are known",
        "BLEU",
        above("no_unk", models[4]),
    )
    yield ASKED_HERE, "RNNsearch-50 is better than it there", "BLEU", above("no_unk")
    yield ASKED_HERE, "… on all sentences", "BLEU", above("all")
    yield ASKED_HERE, "… on the captions, each by itself", "BLEU", above("short")


def _sutskever(work, models, words):
    paper = "Sutskever et al. 2014"
    forward, reversed_, [best], [ensemble] = sutskever2014.measured_systems(work, models).values()

    def wide(found):
        return [each["12"] for each in found]

    yield (
        paper,
        "reversing the source helps the LSTM",
        "BLEU, beam 12",
        _less(wide(reversed_), wide(forward)),
    )
    yield (
        paper,
        "an ensemble is better than the best of its models",
        "BLEU, beam 12",
        [ensemble["12"] - best["12"]],
    )

    def gain(each):
        return 2 * each["2"] - each["1"] - each["12"]

    more = "(beam 2 − beam 1) − (beam 12 − beam 2), BLEU"
    yield (
        paper,
        "a beam of 2 gives an ensemble most of the gain of a beam of 12",
        more,
        [gain(ensemble)],
    )
    yield ASKED_HERE, "… and a single model", more, list(map(gain, reversed_))
    rescored = sutskever2014.measured_rescoring(work, models)
    [alone] = rescored["phrase-based"]
    yield (
        paper,
        "n-best lists of a phrase-based system are better when the LSTM rescores them",
        "BLEU",
        [each - alone for each in rescored["rescored by reversed"]],
    )
    fifths = [
        [fifth["bleu"] for fifth in each["length"]]
        for each in sutskever2014_figures.measured_fifths(work, models[1], words)
    ]
    flat = [FLAT * first - (first - last) for first, *_, last in fifths]
    yield (
        paper,
        "the LSTM is flat up to 35 words",
        "what a flat system may lose − BLEU that it loses",
        flat,
    )
    states = sutskever2014_figures.measured_states(work, models[1])
    nearer = "share of sentences that say so − ½"
    yield (
        paper,
        "the LSTM's states depend on word order",
        nearer,
        [each["order"] - 0.5 for each in states],
    )
    yield (
        paper,
        "the LSTM's states do not depend on active or passive voice",
        nearer,
        [each["voice"] - 0.5 for each in states],
    )


def _cho(work, models):
    paper = "Cho et al. 2014a"
    found = cho2014.measured_rescoring(work, models)

    def better(name, other):
        return [each[name]["test"] - each[other]["test"] for each in found]

    yield (
        paper,
        "the RNN Encoder–Decoder's phrase scores add to the table's frequencies",
        "BLEU",
        better("RNN", "Baseline"),
    )
    yield paper, "… and more than a neural language model does", "BLEU", better("RNN", "CSLM")
    yield paper, "… and to the neural language model", "BLEU", better("CSLM + RNN", "CSLM")
    yield paper, "the word penalty adds to both", "BLEU", better("CSLM + RNN + WP", "CSLM + RNN")
    near = [each["near"] - 0.5 for each in cho2014_figures.measured_paraphrases(work, models[0])]
    yield (
        paper,
        "phrases near in meaning lie near",
        "share of pairs nearer than another with as many words in common − ½",
        near,
    )


def _fall(buckets):
    """BLEU of the shortest minus BLEU of the longest sentences, of lengths with ENOUGH of them."""
    enough = bahdanau2015.with_enough_sentences(buckets)
    return enough[0]["bleu"] - enough[-1]["bleu"]


def _less(first, second):
    return [one - other for one, other in zip(first, second)]
