"""The claims of Sutskever, Vinyals, Le 2014."""

from __future__ import annotations

import numpy as np

from papers import bahdanau2015
from papers import sutskever2014
from papers import sutskever2014_figures
from papers.claim import FLAT, NOT_CLAIMED, Claim, System, between, less, resampled
from papers.resampling import Difference

PAPER = "Sutskever et al. 2014"


def claims(work, models, words):
    """Args: work: Workspace; models: those of table 1; words: the RNNsearch of Figure 3."""
    forward, reverse = (_of_beam_12(work, name, _single(work, name)) for name in models)
    yield Claim(
        PAPER,
        "reversing the source helps the LSTM",
        "BLEU, beam 12",
        between(reverse, forward),
        "+4.42",
    )
    in_order, turned = (sutskever2014.likelihoods(work, name) for name in models)
    yield Claim(
        PAPER,
        "reversing the source lowers the LSTM's perplexity",
        "test perplexity in order − reversed",
        resampled(
            less(*(sutskever2014.measured_perplexities(work, name) for name in models)),
            None,
            [in_order, turned],
            lambda weights, one, other: one.perplexity(weights) - other.perplexity(weights),
        ),
        "+1.1",
    )
    yield _on_long_captions(work, forward, reverse, words)
    yield from _of_ensembles(work, models[1])
    yield Claim(
        PAPER,
        "a beam of 2 gives a single model most of the gain of a beam of 12",
        MORE_OF_BEAM_2,
        Difference(list(map(_gain_of_beam_2, sutskever2014.measured_beams(work, models[1])))),
        NOT_CLAIMED,
    )
    yield from _of_rescored(work, models)
    fifths = [
        [fifth["bleu"] for fifth in each["length"]]
        for each in sutskever2014_figures.measured_fifths(work, models[1], words)
    ]
    yield Claim(
        PAPER,
        "the LSTM is flat up to 35 words",
        "a tenth − BLEU lost from the first to the last fifth",
        Difference([FLAT * first - (first - last) for first, *_, last in fifths]),
        "in Figure 3",
    )
    states = sutskever2014_figures.measured_states(work, models[1])
    cases = sutskever2014_figures.PAIRS
    nearer = "share of cases in which the nearer state is that of the same order or meaning − ½"
    yield Claim(
        PAPER,
        "the LSTM's states depend on word order",
        nearer,
        Difference.of_shares([each["order"] for each in states], cases),
        "in Figure 2",
    )
    yield Claim(
        PAPER,
        "the LSTM's states do not depend on active or passive voice",
        nearer,
        Difference.of_shares([each["voice"] for each in states], cases),
        "in Figure 2",
    )


def _single(work, name):
    return [[seed] for seed in work.seeds_of(name)]


def _of_beam_12(work, name, groups):
    """The System of a model's groups of seeds, each one seed or an ensemble."""
    bleu = [sutskever2014.measured_beams_of(work, name, seeds)["12"] for seeds in groups]
    return System(bleu, sutskever2014.kept_counts(work, name, groups, "12"))


def _on_long_captions(work, forward, reverse, words):
    """Reversed and in order on the longest fifth of the captions, those of Figure 3."""
    captions = bahdanau2015.kept_lengths(work, words)[: len(reverse.counts[0])]
    *_, longest = np.array_split(np.argsort(captions, kind="stable"), 5)
    long = [[each.only(longest) for each in system.counts] for system in (reverse, forward)]

    def gain(weights, one, other):
        return one.bleu(weights) - other.bleu(weights)

    return Claim(
        PAPER,
        "reversing the source helps on long sentences",
        "BLEU of the longest fifth of the captions, beam 12",
        resampled([float(gain(None, *each)[0]) for each in zip(*long)], None, long, gain),
        "in §3.3",
    )


MORE_OF_BEAM_2 = "(beam 2 − beam 1) − (beam 12 − beam 2), BLEU"


def _gain_of_beam_2(beams):
    return 2 * beams["2"] - beams["1"] - beams["12"]


def _of_ensembles(work, name):
    """The claims about the largest ensemble; none with one seed."""
    ensembles = sutskever2014.ensembles(work, name, "beams")
    if not ensembles:
        return
    largest = ensembles[-1]
    members = [_of_beam_12(work, name, [[seed]]) for seed in largest]
    yield Claim(
        PAPER,
        "an ensemble is better than the best of its models",
        f"BLEU of {len(largest)} models, beam 12",
        between(_of_beam_12(work, name, [largest]), max(members, key=lambda system: system.bleu)),
        "in Table 1",
    )
    yield Claim(
        PAPER,
        "a beam of 2 gives an ensemble most of the gain of a beam of 12",
        MORE_OF_BEAM_2,
        Difference([_gain_of_beam_2(sutskever2014.measured_beams_of(work, name, largest))]),
        "+1.19",
    )


def _of_rescored(work, models):
    """The claims about the phrase-based system's lists, rescored."""
    rescored = sutskever2014.measured_rescoring(work, models)
    forward, reverse = (
        System(rescored[f"rescored by {order}"], sutskever2014.kept_counts_of_rescored(work, name))
        for order, name in zip(("forward", "reversed"), models)
    )
    seeds = len(reverse.bleu)
    alone = System(
        rescored["phrase-based"] * seeds, sutskever2014.kept_counts_of_first(work) * seeds
    )
    yield Claim(
        PAPER,
        "n-best lists of a phrase-based system are better when the LSTM rescores them",
        "BLEU",
        between(reverse, alone),
        "+2.55",
    )
    yield Claim(
        PAPER,
        "the n-best lists are better when a reversed LSTM rescores them than a forward one",
        "BLEU",
        between(reverse, forward),
        "+0.24",
    )


def of_depth(work, models) -> Claim:
    """Args: work: Workspace; models: of one layer and of three."""
    shallow, deep = (sutskever2014.likelihoods(work, name) for name in models)

    def saved(weights, deep, shallow):
        two_layers = deep.perplexity(weights) / shallow.perplexity(weights)
        return 1 - two_layers**0.5

    return Claim(
        PAPER,
        "each layer lowers the LSTM's perplexity",
        "share of the perplexity, a layer, from one layer to three",
        resampled(
            [float(saved(None, *each)[0]) for each in zip(deep, shallow)],
            None,
            [deep, shallow],
            saved,
        ),
        "nearly 0.1",
    )
