"""The claims of Sutskever, Vinyals, Le 2014."""

from __future__ import annotations

import numpy as np

from papers import bahdanau2015
from papers import sutskever2014
from papers import sutskever2014_figures
from papers.claim import FLAT, Claim, System, between, less, resampled
from papers.resampling import Difference

PAPER = "Sutskever et al. 2014"


def claims(work, models, words):
    """Args: work: Workspace; models: those of table 1; words: an RNNsearch, with whose translations
    the lengths of the captions are kept.
    """
    forward, reverse = (
        _of_beam(work, name, sutskever2014.each_seed(work, name)) for name in models
    )
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
    yield from _by_length(work, forward, reverse, words)
    yield from _of_ensembles(work, models[1])
    yield Claim(
        PAPER,
        "a beam of 2 gives a single model most of the gain of a beam of 12",
        MORE_OF_BEAM_2,
        _gain_of_beam_2(work, models[1], sutskever2014.each_seed(work, models[1])),
        "in §3.2",
    )
    yield from _of_rescored(work, models)
    states = sutskever2014_figures.measured_states(work, models[1])
    cases = sutskever2014_figures.PAIRS
    yield Claim(
        PAPER,
        "the LSTM's states depend on word order",
        "share of sentences nearer to one with another verb than to one with its nouns exchanged"
        " − ½",
        Difference.of_shares([each["order"] for each in states], cases),
        "in Figure 2",
    )
    yield Claim(
        PAPER,
        "the LSTM's states do not depend on active or passive voice",
        "share of passive sentences nearer to the active one of the same meaning than to the one"
        " with its nouns exchanged − ½",
        Difference.of_shares([each["voice"] for each in states], cases),
        "in Figure 2",
    )


def _of_beam(work, name, groups, beam="12"):
    """The System of a model's groups of seeds, each one seed or an ensemble."""
    bleu = [sutskever2014.measured_beams_of(work, name, seeds)[beam] for seeds in groups]
    return System(bleu, sutskever2014.kept_counts(work, name, groups, beam))


def _by_length(work, forward, reverse, words):
    """The claims about the shortest and the longest fifth of the captions, as in Figure 3."""
    lengths = bahdanau2015.kept_lengths(work, words)[: len(reverse.counts[0])]
    first, *_, last = np.array_split(np.argsort(lengths, kind="stable"), 5)
    tokens = f"{lengths[last[0]]:.0f} to {lengths[last[-1]]:.0f} tokens"

    def of(system, lines):
        return [each.only(lines) for each in system.counts]

    def gain(weights, one, other):
        return one.bleu(weights) - other.bleu(weights)

    def is_flat(weights, short, long):
        return FLAT * short.bleu(weights) - gain(weights, short, long)

    def difference(function, *systems):
        values = [float(function(None, *each)[0]) for each in zip(*systems)]
        return resampled(values, None, systems, function)

    yield Claim(
        PAPER,
        "reversing the source helps on long sentences",
        f"BLEU of the longest fifth of the captions, {tokens}",
        difference(gain, of(reverse, last), of(forward, last)),
        "in §3.3",
    )
    yield Claim(
        PAPER,
        "the LSTM is flat up to 35 words",
        f"10 % of BLEU on the first fifth − BLEU lost to the last, which has {tokens}",
        difference(is_flat, of(reverse, first), of(reverse, last)),
        "in Figure 3",
    )


MORE_OF_BEAM_2 = "(beam 2 − beam 1) − (beam 12 − beam 2), BLEU"


def _gain_of_beam_2(work, name, groups):
    one, two, twelve = (_of_beam(work, name, groups, beam) for beam in ("1", "2", "12"))

    def more(two, one, twelve):
        return 2 * two - one - twelve

    return resampled(
        [more(*each) for each in zip(two.bleu, one.bleu, twelve.bleu)],
        None,
        [two.counts, one.counts, twelve.counts],
        lambda weights, *each: more(*(counts.bleu(weights) for counts in each)),
    )


def _of_ensembles(work, name):
    """The claims about the largest ensemble; none with one seed."""
    ensembles = sutskever2014.ensembles(work, name, "beams")
    if not ensembles:
        return
    largest = ensembles[-1]
    members = [_of_beam(work, name, [[seed]]) for seed in largest]
    yield Claim(
        PAPER,
        "an ensemble is better than the best of its models",
        f"BLEU of {len(largest)} models, beam 12",
        between(_of_beam(work, name, [largest]), max(members, key=lambda system: system.bleu)),
        "of one: +2.68 (2 models), +4.22 (5)",
    )
    yield Claim(
        PAPER,
        "a beam of 2 gives an ensemble most of the gain of a beam of 12",
        MORE_OF_BEAM_2,
        _gain_of_beam_2(work, name, [largest]),
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
    """Args: work: Workspace; models: of one, two and three layers."""
    layers = [sutskever2014.likelihoods(work, name)[:1] for name in models]

    def smaller_share_saved(weights, *layers):
        perplexities = [each.perplexity(weights) for each in layers]
        return np.minimum(
            *(1 - deep / shallow for shallow, deep in zip(perplexities, perplexities[1:]))
        )

    return Claim(
        PAPER,
        "each layer lowers the LSTM's perplexity",
        "share of the perplexity that the second layer saves, or the third if that is less",
        resampled(
            [float(smaller_share_saved(None, *each)[0]) for each in zip(*layers)],
            None,
            layers,
            smaller_share_saved,
        ),
        "nearly 0.1 a layer",
    )
