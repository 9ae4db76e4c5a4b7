"""The papers' claims, one a line: held, suggestive, undecided or not held here, with the number.

A claim is a difference that is above zero if the claim is true. resampling.py decides whether it
is, over the seeds and over resamples of the test text. Claims about a test text whose translations
were not kept are decided over the seeds alone.
"""

from __future__ import annotations

from papers import bahdanau2015
from papers import cho2014
from papers import cho2014_figures
from papers import documents
from papers import hard_alignment
from papers import monotone
from papers import phrase_based
from papers import sutskever2014_claims
from papers.claim import FLAT, NOT_CLAIMED, Claim, System, between, less, resampled
from papers.page import Page
from papers.resampling import LEVEL, RESAMPLES, VERDICTS, Difference, verdicts

PHRASES_BETTER = "the phrase-based system is better than RNNsearch-50 on all sentences"
"""The claim of Table 1 that the text names, too."""


def claims(work, models) -> Page:
    """Every claim that the measurements test.

    Args:
        work: Workspace.
        models: the five of bahdanau2015-table1, those of sutskever2014-table1, those of one and of
            three layers, those of cho2014-table1, of bahdanau2015-figure2-documents.
    """
    found = [
        *_bahdanau(work, models[:5]),
        *sutskever2014_claims.claims(work, models[5:7], models[3]),
        sutskever2014_claims.of_depth(work, [models[7], models[6], models[8]]),
        *_cho(work, models[9:11]),
    ]
    judged = verdicts([claim.difference for claim in found])
    units = found[0].difference.units
    blocks = f" ({units} blocks)" if units else ""
    [order] = [claim.difference.mean for claim in found if claim.says == PHRASES_BETTER]
    asked = [claim.in_paper.startswith(NOT_CLAIMED) for claim in found]
    rows = [
        {
            "paper": claim.paper,
            "claim": claim.says,
            "measured as": claim.measure,
            "paper's": claim.in_paper,
            "ours": claim.difference.shown(),
            "agrees?": verdict,
        }
        for claim, verdict in zip(found, judged)
    ]
    numbers = [
        {
            "claim": claim.says,
            "values": claim.difference.values,
            "variance over the text": claim.difference.variance,
            "units of the text": claim.difference.units,
            "probability": claim.difference.probability,
        }
        for claim in found
    ]
    return Page(
        "The papers' claims",
        rows,
        text=[
            f"Claims of the papers: {_tally(judged, asked, False)}. Questions of ours, not claimed:"
            f" {_tally(judged, asked, True)}.",
            (
                "Only the signs can be compared with the papers', not the sizes: models, texts and"
                " trainings are small. A claim is written as a difference, which is above zero if"
                f" the claim is true. {NOT_CLAIMED}: a question of ours, not of the paper."
            ),
            (
                "The text is Multi30k, 29,000 English–French captions. Bahdanau et al.: BLEU of"
                " lower-cased tokens on captions joined to lines of one to five, and paragraphs"
                " where it says so. Sutskever et al.: BLEU (13a, with case) on single captions."
                " Where n-best lists are rescored, and Cho et al.: BLEU of lower-cased tokens on"
                " single captions. Cho et al.'s numbers are those of the paper's first version; its"
                " decoder searches with the scores that rank n-best lists here. Its phrase table is"
                " of a part of the text; ours is of every tenth caption, unless the claim says all."
            ),
            (
                "Ours is the mean over the seeds, with the 95 % confidence interval. Its variance"
                " is that over the seeds, if there are several, and where there is a *, also that"
                f" over {RESAMPLES:,} resamples of the test text, or of the pairs of nouns of"
                " Figure 2."
                " Lines of joined captions share captions, so blocks of 60 captions are resampled,"
                f" which share none{blocks}."
            ),
            (
                f"held, not held: above or below zero at {LEVEL * 100:.0f} % with Holm's correction"
                " for deciding all these claims, with two seeds or more; suggestive: above zero at"
                " this level without the correction, or with one seed; undecided: all others, so"
                " also a difference clearly below zero of one seed. One seed without translations"
                " decides nothing. The ensemble, the LSTMs of one and three layers and the model"
                " that is trained longer are of one seed: the interval of their differences is of"
                " the text alone."
            ),
            (
                "The shortest and the longest sentences are the first and the last length of"
                f" Figure 2 with at least {bahdanau2015.ENOUGH} sentences. Flat, by our own"
                f" measure: a system that loses at most {FLAT * 100:.0f} % of its BLEU between"
                " them, or between the first and the last fifth of the captions by length."
            ),
            phrase_based.WEAKER
            + " In the paper it is better than RNNsearch-50 on all sentences; here, on captions, it"
            f" is {'worse' if order < 0 else 'better, too'}. How their order depends on the size of"
            " the training text: [bahdanau2015-scaling](bahdanau2015-scaling.md); on other text:"
            " [bahdanau2015-figure2-documents](bahdanau2015-figure2-documents.md).",
        ],
        numbers={"differences": numbers},
    )


def _tally(judged, asked, kind):
    """How many of the claims, or of the questions, have each verdict, as text."""
    chosen = [verdict for verdict, each in zip(judged, asked) if each == kind]
    counts = ", ".join(f"{chosen.count(verdict)} {verdict}" for verdict in VERDICTS)
    return f"{len(chosen)}, {counts}"


def _bahdanau(work, models):
    paper = "Bahdanau et al. 2015"
    measured = {name: bahdanau2015.measured_bleu(work, name, models) for name in models}
    encdec_30, search_30, encdec_50, search_50, longer = (
        System([each["all"] for each in found], bahdanau2015.kept_counts(work, name))
        for name, found in measured.items()
    )
    units = bahdanau2015.kept_units(work, models[3])

    def gain(better, worse):
        return between(better, worse, units)

    yield Claim(
        paper,
        "RNNsearch is better than RNNencdec, trained on up to 50 words",
        "BLEU",
        gain(search_50, encdec_50),
        "+8.93",
    )
    yield Claim(
        paper,
        "RNNsearch is better than RNNencdec, trained on up to 30 words",
        "BLEU",
        gain(search_30, encdec_30),
        "+7.57",
    )
    yield from _by_length(work, paper, models[2], models[3], (encdec_50, search_50), units)
    yield _on_paragraphs(work, paper)
    yield Claim(
        paper,
        "RNNsearch is better trained on up to 50 words than on up to 30",
        "BLEU",
        gain(search_50, search_30),
        "+5.25",
    )
    yield Claim(
        paper,
        "RNNencdec is better trained on up to 50 words than on up to 30",
        "BLEU",
        gain(encdec_50, encdec_30),
        "+3.89",
    )
    yield Claim(
        paper,
        "RNNsearch-30 is better than RNNencdec-50",
        "BLEU",
        gain(search_30, encdec_50),
        "+3.68",
    )
    yield Claim(
        paper,
        "RNNsearch-50 is better trained longer",
        "BLEU, first seed",
        gain(longer, search_50.of_first_seed()),
        "+1.70",
    )
    yield from _monotone(work, paper, models[3])
    soft, hard = (
        System([float(each.bleu()[0]) for each in counts], counts)
        for counts in (
            hard_alignment.measured_soft(work, models[3]),
            hard_alignment.measured_hard(work, models[3]),
        )
    )
    yield Claim(
        paper,
        "RNNsearch-50 loses BLEU if its search attends to one word at a time (hard alignment)",
        "BLEU",
        gain(soft, hard),
        f"{NOT_CLAIMED}; §5.2.1 argues by an example",
    )
    yield from _beside_phrases(work, paper, models, measured, units)


def _by_length(work, paper, encdec, search, systems, units):
    """The claims of Figure 2; `systems` are those of both names."""
    lengths = {name: bahdanau2015.measured_lengths(work, name) for name in (encdec, search)}
    encdec_fall, search_fall = ([_fall(buckets) for buckets in found] for found in lengths.values())
    allowed = {
        name: [FLAT * bahdanau2015.with_enough_sentences(buckets)[0]["bleu"] for buckets in found]
        for name, found in lengths.items()
    }
    ends = bahdanau2015.kept_ends(work, search, lengths[search][0])
    every = [[each.only(lines) for each in system.counts] for system in systems for lines in ends]

    def fall(weights, short, long):
        return short.bleu(weights) - long.bleu(weights)

    def not_flat(weights, short, long):
        return fall(weights, short, long) - FLAT * short.bleu(weights)

    yield Claim(
        paper,
        "the gap between them grows with length",
        "gap in BLEU on the longest sentences − gap on the shortest",
        resampled(
            less(encdec_fall, search_fall),
            units,
            every,
            lambda weights, *each: fall(weights, *each[:2]) - fall(weights, *each[2:]),
        ),
        "in Figure 2",
    )
    yield Claim(
        paper,
        "RNNencdec falls with length",
        "BLEU lost from the shortest to the longest sentences − 10 % of that on the shortest",
        resampled(less(encdec_fall, allowed[encdec]), units, every[:2], not_flat),
        "in Figure 2",
    )
    yield Claim(
        paper,
        "RNNsearch is flat",
        "10 % of BLEU on the shortest sentences − BLEU lost from them to the longest",
        resampled(
            less(allowed[search], search_fall),
            units,
            every[2:],
            lambda weights, *each: -not_flat(weights, *each),
        ),
        "in Figure 2",
    )


def _on_paragraphs(work, paper):
    search, encdec = (documents.measured(work, name) for name in documents.MODELS)
    lengths = documents.lengths(work)
    first, *_, last = documents.groups(lengths)

    def gap(weights, search, encdec, lines):
        return search.only(lines).bleu(weights) - encdec.only(lines).bleu(weights)

    def growth(weights, *systems):
        return gap(weights, *systems, last) - gap(weights, *systems, first)

    return Claim(
        paper,
        "the gap between them grows with length on paragraphs, too",
        "gap in BLEU on the longest paragraphs − gap on the shortest",
        resampled(
            [float(growth(None, *each)[0]) for each in zip(search, encdec)],
            None,
            [search, encdec],
            growth,
        ),
        NOT_CLAIMED,
    )


def _monotone(work, paper, name):
    steps = [monotone.shares(each["steps"]) for each in monotone.measured_steps(work, name)]
    swaps, further = (
        [share[kind] for share in steps] for kind in ("one word back", "further back")
    )
    yield Claim(
        paper,
        "alignments are mostly monotone",
        "½ − share of the steps of attention that go back",
        Difference([0.5 - sum(back) for back in zip(swaps, further)]),
        "in §5.2.1",
    )
    yield Claim(
        paper,
        "attention's steps back are mostly of one word",
        "share of such steps − of steps further back",
        Difference(less(swaps, further)),
        NOT_CLAIMED,
    )


def _beside_phrases(work, paper, models, measured, units):
    """The claims about the phrase-based system."""
    phrases = bahdanau2015.measured_phrase_based(work, models)
    counts = bahdanau2015.kept_counts_of_phrases(work)
    known = bahdanau2015.known(work, models) if counts else []
    single = bahdanau2015.kept_single_sentences(work, models[3])

    def above(part, name, lines, forbid_unknown=False, sign=1):
        """RNNsearch − phrases, or phrases − RNNsearch for a sign of −1, on some lines."""
        values = [sign * (each[part] - phrases[part]) for each in measured[name]]
        network = bahdanau2015.kept_counts(work, name, forbid_unknown)
        chosen = [
            [each.only(lines) for each in system] for system in (network, counts * len(network))
        ]
        return resampled(
            values,
            units,
            chosen,
            lambda weights, ours, theirs: sign * (ours.bleu(weights) - theirs.bleu(weights)),
        )

    if phrases["no_unk"] is not None:  # there are such sentences
        yield Claim(
            paper,
            "RNNsearch trained longer is as good as the phrase-based system where all words are"
            " known, or better",
            "BLEU",
            above("no_unk", models[4], known, forbid_unknown=True),
            "+0.52",
        )
        yield Claim(
            paper,
            "the phrase-based system is better than RNNsearch-50 where all words are known",
            "BLEU",
            above("no_unk", models[3], known, forbid_unknown=True, sign=-1),
            f"{NOT_CLAIMED}; Table 1: +1.47",
        )
    yield Claim(
        paper,
        PHRASES_BETTER,
        "BLEU",
        above("all", models[3], slice(None), sign=-1),
        f"{NOT_CLAIMED}; Table 1: +6.55",
    )
    yield Claim(
        paper,
        "RNNsearch-50 is better than the phrase-based system on captions, each by itself",
        "BLEU",
        above("short", models[3], slice(0, single)),
        NOT_CLAIMED,
    )


def _cho(work, models):
    paper = "Cho et al. 2014a"

    def better(name, other, text="a tenth"):
        return between(*(cho2014.rescored(work, models, text, each) for each in (name, other)))

    yield Claim(
        paper,
        "the RNN Encoder–Decoder's phrase scores add to a phrase table of a part of the text",
        "BLEU",
        better("RNN", "Baseline"),
        "+0.63",
    )
    yield Claim(
        paper,
        "the phrase scores add to a phrase table of all the text that the RNN learned from",
        "BLEU",
        better("RNN", "Baseline", "all"),
        "+0.59",
    )
    yield Claim(
        paper,
        "the phrase scores add more than a neural language model does",
        "BLEU",
        better("RNN", "CSLM"),
        "+0.38",
    )
    yield Claim(
        paper,
        "the phrase scores add to the neural language model",
        "BLEU",
        better("CSLM + RNN", "CSLM"),
        "+1.06",
    )
    yield Claim(
        paper,
        "the word penalty adds to phrase scores and language model",
        "BLEU",
        better("CSLM + RNN + WP", "CSLM + RNN"),
        "+0.54",
    )
    near = [each["near"] - 0.5 for each in cho2014_figures.measured_paraphrases(work, models[0])]
    yield Claim(
        paper,
        "phrases of the same meaning have similar encodings",
        "share of pairs more similar than a pair with as many words in common − ½",
        Difference(near),
        "in Figure 5",
    )


def _fall(buckets):
    """BLEU of the shortest minus BLEU of the longest sentences, of lengths with ENOUGH of them."""
    enough = bahdanau2015.with_enough_sentences(buckets)
    return enough[0]["bleu"] - enough[-1]["bleu"]
