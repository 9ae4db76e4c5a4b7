"""Cho et al. 2014a, the figures: phrase pairs by two scores; words and phrases in the plane;
whether phrases of similar meaning are close.
"""

from __future__ import annotations

import random

import numpy as np

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.extras.plots.zooms import regions, zoomed_figures
from papers import phrase_based
from papers.page import Page, over_seeds

LONG = 4
"""Minimum number of words of a long phrase."""

FREQUENT = 10
"""Minimum count of a frequent source phrase."""

PAIRS = 5000
WORDS = 1500
PHRASES = 1500
"""Numbers for a picture: phrase pairs and phrases at random, the most frequent words."""

PARAPHRASES = 1000
"""Maximum number of pairs of phrases with the same translation."""

LOOKED_AT = 3000
"""Maximum number of phrases to try as the third of a pair; a pair without one is left out."""

SEED = 1


def figure_3(work, models) -> Page:
    """log p(target | source) by the phrase table and by the model, each phrase pair a point."""
    table = []
    picture = None
    for name in models:
        found = work.of_each_seed("cho-figure3", name, _scores)
        picture = picture or _scatter(found[0])
        for kind, chosen in _kinds(found[0]).items():
            values = [_rank_correlation(each, chosen) for each in found]
            table.append(
                {
                    "model": name,
                    "source phrase": kind,
                    "pairs": len(chosen),
                    "rank correlation": over_seeds(values),
                }
            )
    text = [
        (
            f"{len(found[0]['table'])} random phrase pairs of the table. x: log p(target | source)"
            " of the table, a relative frequency, the third of Moses's scores. y: that of the"
            " model, the end symbol included; natural logarithms. Both are equal on the line."
        ),
        (
            "Spearman's rank correlation. A source phrase that was seen once has p = 1 in the"
            " table, which gives a column of points at 0; so the right picture, with equal scales,"
            f" has only pairs whose source phrase was seen at least {FREQUENT} times. A dash: a"
            " score is the same for all pairs."
        ),
        (
            "The paper: many phrase pairs are scored similarly by both, but as many are scored"
            " radically differently."
        ),
    ]
    return Page(
        "Cho et al. 2014a, Figure 3: phrase pairs by two scores",
        table,
        [],
        text,
        {"scores": picture},
    )


def _scores(work, name, seed):
    """Score the same pairs by the phrase table and by the model.

    Returns:
        {"table", "model": log-probabilities of the pairs, "counts": of their source phrases}.
    """
    from rnnsearch_tf.data.inspection.selection import sampled

    pairs = sampled(phrase_based.rows(work.phrase_based()), PAIRS, random.Random(SEED))
    scored = work.translator(name, seed).score(
        [row.source for row in pairs], [row.target for row in pairs], tokenized=True
    )
    return {
        "table": [float(np.log(row.probability)) for row in pairs],
        "model": scored,
        "counts": [row.count for row in pairs],
    }


def _kinds(found):
    """{kind of source phrases: indices of the pairs}."""
    counts = np.array(found["counts"])
    kinds = {
        "any": counts > 0,
        "seen more than once": counts > 1,
        f"seen {FREQUENT} times or more": counts >= FREQUENT,
    }
    return {kind: np.flatnonzero(chosen) for kind, chosen in kinds.items()}


def _rank_correlation(found, chosen):
    """Spearman's rank correlation; None if one of the scores is the same for all pairs."""
    from scipy.stats import spearmanr

    table, model = (np.array(found[key])[chosen] for key in ("table", "model"))
    return (
        float(spearmanr(table, model).statistic)
        if len(set(table)) > 1 and len(set(model)) > 1
        else None
    )


def _scatter(found):
    """All pairs, and beside them those with frequent source phrases, on equal scales."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5.5), layout="constrained")
    everything, *_, frequent = _kinds(found).items()
    for place, (kind, chosen) in enumerate((everything, frequent), start=1):
        table, model = (np.array(found[key])[chosen] for key in ("table", "model"))
        axes = figure.add_subplot(
            1,
            2,
            place,
            title=f"source phrase: {kind}",
            xlabel="log p(target | source), phrase table",
            ylabel="log p(target | source), RNN Encoder–Decoder",
        )
        axes.scatter(table, model, s=8, color="tab:blue", alpha=0.3, linewidths=0)
        axes.axline((0, 0), slope=1, color="0.5", linewidth=0.8)
    lowest = min([*table, *model], default=-1) - 0.5
    axes.set(xlim=(lowest, 0.5), ylim=(lowest, 0.5), aspect="equal")
    return figure


def figure_4(work, models) -> Page:
    """The source words in the plane."""
    plane = work.measured(
        f"cho-figure4-{work.seeds[0]}", lambda: _words_in_the_plane(work, models[0])
    )
    text = [_shown(plane["texts"], "most frequent words: rows of the embedding")]
    return Page(
        "Cho et al. 2014a, Figure 4: words in the plane", [], [], text, zoomed_figures(**plane)
    )


def _words_in_the_plane(work, name):
    from rnnsearch_tf.extras.plots.vectors import word_vectors

    translator = work.translator(name, work.seeds[0])
    return _in_the_plane(*word_vectors(translator.model, translator.source_text, "source", WORDS))


def figure_5(work, models) -> Page:
    """Long phrases in the plane, and whether those with the same translation are close."""
    columns = {
        "near": "nearer than a phrase with as many words in common",
        "same": "cosine, same translation",
        "other": "cosine, as many words in common",
        "random": "cosine, random pair",
        "pairs": "pairs",
    }
    table = []
    for name in models:
        found = measured_paraphrases(work, name)
        table.append(
            {"model": name}
            | {title: over_seeds([each[key] for each in found]) for key, title in columns.items()}
        )
    plane = work.measured(
        f"cho-figure5-{work.seeds[0]}", lambda: _phrases_in_the_plane(work, models[0])
    )
    text = [
        _shown(
            plane["texts"],
            f"random phrases of {LONG} or more words: their context c from the encoder",
        ),
        (
            "Are phrases of similar meaning close? Two source phrases count as similar in meaning"
            " if the table gives both the same likeliest translation. They share words, too. So"
            " each pair is compared with a third phrase of the same length, which has as many words"
            " in common with the first and another translation. Similarity is the cosine of the"
            " phrases' states. The table has the mean cosines, and the share of pairs whose second"
            " phrase is nearer to the first than the third one is. If meaning does not matter,"
            " that is 1/2."
        ),
    ]
    return Page(
        "Cho et al. 2014a, Figure 5: phrases in the plane", table, [], text, zoomed_figures(**plane)
    )


def _phrases_in_the_plane(work, name):
    from rnnsearch_tf.data.inspection.selection import sampled
    from rnnsearch_tf.extras.plots.vectors import sentence_vectors

    translator = work.translator(name, work.seeds[0])
    phrases = sampled(
        sorted(best_translations(phrase_based.rows(work.phrase_based()))),
        PHRASES,
        random.Random(SEED),
    )
    return _in_the_plane(
        phrases, sentence_vectors(translator.model, translator.source_text, phrases)
    )


def _shown(items, what):
    return (
        f"The {len(items)} {what}, of the model of the first seed, by t-SNE. Framed regions, those"
        " with the most similar vectors, are also shown enlarged, in the same colour. Labels for"
        " which there is no room are left out."
    )


def _in_the_plane(texts, vectors):
    """The arguments of :func:`zoomed_figures`, in JSON types."""
    from rnnsearch_tf.extras.plots.vectors import project

    points = project(vectors)
    return {
        "texts": list(texts),
        "points": points.tolist(),
        "squares": [[centre.tolist(), half] for centre, half in regions(points, vectors)],
    }


def best_translations(table) -> dict:
    """{long source phrase: its likeliest translation}; of equally likely ones the first in the
    alphabet.

    Args:
        table: iterable of phrase_based.Row.
    """
    best = {}
    for row in table:
        if len(row.source.split()) >= LONG:
            mine = -row.probability, row.target
            best[row.source] = min(best.get(row.source, mine), mine)
    return {source: target for source, (_, target) in best.items()}


def measured_paraphrases(work, name) -> list:
    """[{"near": share, "same", "other", "random": mean cosines, "pairs"} of each seed]; the page of
    Figure 5 explains them.
    """
    return work.of_each_seed("paraphrases", name, _measure_paraphrases)


def _measure_paraphrases(work, name, seed):
    from rnnsearch_tf.extras.plots.vectors import sentence_vectors

    triples = paraphrases(best_translations(phrase_based.rows(work.phrase_based())), PARAPHRASES)
    if not triples:
        raise UserError(
            f"the phrase table: expected phrases of {LONG} or more words that share their likeliest"
            " translation, found none; train the phrase-based system on more text"
        )
    translator = work.translator(name, seed)
    phrases = sorted({phrase for triple in triples for phrase in triple})
    vectors = sentence_vectors(translator.model, translator.source_text, phrases).astype(np.float64)
    units = dict(zip(phrases, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)))
    first, second, third = (
        np.stack([units[phrase] for phrase in column]) for column in zip(*triples)
    )
    same, other, any_two = (
        (first * column).sum(axis=1) for column in (second, third, np.roll(second, 1, axis=0))
    )
    means = {
        key: float(np.mean(values))
        for key, values in (
            ("near", same > other),
            ("same", same),
            ("other", other),
            ("random", any_two),
        )
    }
    return means | {"pairs": len(triples)}


def paraphrases(translations, number: int) -> list:
    """Pairs of phrases with the same translation, each with a third phrase to compare with.

    Args:
        translations: {phrase: its translation}.
        number: maximum number of pairs; each translation gives at most one pair.

    Returns:
        list of (first, second, third): the third has another translation, as many words as the
        second, and as many words in common with the first.

    Example:
        >>> table = {
        ...     "the man sits down": "x",
        ...     "the man is sitting": "x",
        ...     "the man runs away": "y",
        ...     "a red car stops": "z",
        ... }
        >>> [third for _, _, third in paraphrases(table, 10)]
        ['the man runs away']
    """
    generator = random.Random(SEED)
    of_translation = {}
    of_word = {}
    for phrase, translation in sorted(translations.items()):
        of_translation.setdefault(translation, []).append(phrase)
        for word in set(phrase.split()):
            of_word.setdefault(word, []).append(phrase)
    groups = [group for group in of_translation.values() if len(group) > 1]
    generator.shuffle(groups)
    found = []
    for group in groups:
        first, second = generator.sample(group, 2)
        common = sorted(_common(first, second))
        others = of_word[generator.choice(common)] if common else sorted(translations)
        for third in generator.sample(others, min(LOOKED_AT, len(others))):
            alike = len(third.split()) == len(second.split()) and len(_common(first, third)) == len(
                common
            )
            if alike and translations[third] != translations[first]:
                found.append((first, second, third))
                break
        if len(found) == number:
            break
    return found


def _common(one, other):
    return set(one.split()) & set(other.split())
