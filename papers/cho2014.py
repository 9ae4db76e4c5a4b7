"""Cho et al. 2014a: the RNN Encoder–Decoder scores the phrase pairs of a phrase-based system,
together with a neural language model (CSLM).

    python -m papers.cho2014 table1 table2 table3 figure3 figure4 figure5 --data DATA --seeds 3

needs `pip install ".[smt,plots]"`. The paper's decoder searches with the scores. Here they are
features of n-best lists, which are then tuned and sorted again:

    RNN     Σ over the phrases of a derivation of  log p(target phrase | source phrase)
    CSLM    log p(sentence)
    WP      number of words of the phrases, on both sides, that the RNN does not know: the word
            penalty of the paper
"""

from __future__ import annotations

import itertools
import math
import random

import numpy as np

from papers import phrase_based
from papers.common import Page, bleu, main, over_seeds
from papers.phrase_based import PARTS, PhraseBased
from papers.tuning import Candidates, tune

SCORER, LANGUAGE_MODEL = "phrase-scorer", "cslm"
NETWORKS = "RNN", "CSLM", "WP"
VARIANTS = {
    "Baseline": (),
    "CSLM": ("CSLM",),
    "RNN": ("RNN",),
    "CSLM + RNN": ("CSLM", "RNN"),
    "CSLM + RNN + WP": ("CSLM", "RNN", "WP"),
}
EVERY = {"a tenth": 10, "all": 1}
"""{captions from which the phrase table is learned: n for every n-th}."""

PAPER_TABLE_1 = [
    ("reduced", "Baseline", 27.63, 29.33),
    ("reduced", "CSLM", 28.33, 29.58),
    ("reduced", "RNN", 28.48, 29.96),
    ("reduced", "CSLM + RNN", 28.60, 30.64),
    ("reduced", "CSLM + RNN + WP", 28.93, 31.18),
    ("full", "Baseline", 30.62, 33.30),
    ("full", "RNN", 31.20, 33.89),
]
"""Of the first version on arXiv, and the experiment with the full bitext in §4.2; the published
version has no row of the language model alone.
"""

STARTS = 16
"""Number of initial weight vectors for tuning. With 4, two seeds with the same features reach
development BLEU that differs by 0.2.
"""
LONG = 4
"""Minimum number of words of a long source phrase."""
SEED = 1

TRANSLATIONS = 3
SHOWN = 3
CHOSEN = 5
"""Of Tables 2 and 3: minimum number of translations of a phrase, number shown, and phrases of each
kind.
"""
SAMPLES = 50
TOP = 5

FREQUENT = 10
"""Minimum count of a frequent source phrase."""
PAIRS, WORDS, PHRASES = 5000, 1500, 1500
"""For a picture: phrase pairs at random, the most frequent words, phrases at random."""
PARAPHRASES = 1000
"""Maximum number of pairs of phrases with the same translation."""
LOOKED_AT = 3000
"""Maximum number of phrases to try as the third of a pair; a pair without one is left out."""
REGIONS, MEMBERS = 3, 30
"""Enlarged regions of a plane, and points of each."""
PERPLEXITY = 30.0
"""Of t-SNE (van der Maaten and Hinton 2008); for few points, a third of their number."""


def scorer(work, seed):
    """The RNN Encoder–Decoder, trained on the phrase pairs of the table."""
    phrase_based.write_phrases(work)
    return work.translator(SCORER, seed)


def table_1(work) -> Page:
    """BLEU of the phrase-based systems with the networks' scores."""
    rows = []
    for text, every in EVERY.items():
        found = [
            work.measured(f"cho2014-every-{every}-{seed}", lambda: tuned_bleu(work, seed, every))
            for seed in work.seeds
        ]
        rows += [
            {"phrase table of": text, "model": name}
            | {part: over_seeds([each[name][part] for each in found]) for part in PARTS}
            for name in found[0]
        ]
    paper = [dict(zip(("phrase table of", "model", *PARTS), row)) for row in PAPER_TABLE_1]
    text = [
        "BLEU of lower-cased tokens. The scores are features of n-best lists, which are then sorted"
        ' again; the paper\'s decoder searches with them. Every row except "as decoded" has its'
        " own weights, tuned on the development lists by minimum error rate training for each seed."
        " All seeds share the phrase-based systems.",
        "The paper's phrase table is of 15 million words, 2 % of its data; its RNN learned from 348"
        " million, its language models from 418 million. To show that the gain is not due to more"
        " phrase pairs alone, the authors also measured a system of the full text (§4.2). Here one"
        " phrase table is of every tenth caption, the other of all; both systems have the language"
        " model of all captions, and the networks learned from all.",
        "The paper's figures are those of its first version (arXiv, June 2014), which has the row"
        " of the language model alone. The version of EMNLP 2014 has a stronger baseline, and its"
        " word penalty does not help: 33.30 on the test set for the baseline, 33.87 with the RNN,"
        " 34.64 with CSLM and RNN, 34.54 with the word penalty.",
        phrase_based.WEAKER,
    ]
    title = "Cho et al. 2014a, Table 1: phrase pairs scored by the RNN Encoder–Decoder"
    return Page(title, rows, paper, text)


def tuned_bleu(work, seed, every) -> dict:
    """{variant: {"development", "test": BLEU}} of one seed; `every` as for phrase_based.system."""
    from rnnsearch_tf.extras.moses.nbest import read_nbest

    folder = phrase_based.system(work, every)
    begin = PhraseBased(folder).weights
    results: dict = {"as decoded": {}}
    candidates = {}
    for part in PARTS:
        lists = list(read_nbest(folder / f"nbest.{part}"))
        gold = phrase_based.text(folder, part, "fr")
        results["as decoded"][part] = bleu([entries[0].text for entries in lists], gold)
        sources = phrase_based.text(folder, part, "en")
        more = zip(*scores_of(work, seed, lists, sources))
        entries = [[(e.text, [*features(e), *next(more)]) for e in one] for one in lists]
        candidates[part] = Candidates.from_lists(entries, gold)
    for name, used in VARIANTS.items():
        columns = [*range(len(begin)), *(len(begin) + NETWORKS.index(score) for score in used)]
        development, test = (candidates[part].with_features(columns) for part in PARTS)
        weights, reached = tune(development, [*begin, *[0.0] * len(used)], STARTS, seed)
        results[name] = {"development": reached, "test": test.bleu(weights)}
    return results


def scores_of(work, seed, lists, source) -> list[list[float]]:
    """The values of NETWORKS, each one number for each hypothesis of the lists, in their order."""
    entries = [entry for each in lists for entry in each]
    derivations = [phrases(entry, source[entry.sentence]) for entry in entries]
    pairs = list(dict.fromkeys(itertools.chain.from_iterable(derivations)))
    scored = scorer(work, seed).score_targets(*sides(pairs), tokenized=True)
    scored = dict(zip(pairs, scored))
    texts = [(source[entry.sentence], entry.text) for entry in entries]
    distinct = list(dict.fromkeys(texts))
    fluency = work.translator(LANGUAGE_MODEL, seed).score(*sides(distinct), tokenized=True)
    fluency = dict(zip(distinct, fluency))
    return [
        [sum(scored[pair].log_probability for pair in each) for each in derivations],
        [fluency[text] for text in texts],
        [float(sum(scored[pair].unknown_words for pair in each)) for each in derivations],
    ]


def sides(pairs) -> list[list[str]]:
    return [list(side) for side in zip(*pairs)] or [[], []]


def phrases(entry, source) -> list[tuple[str, str]]:
    """[(source phrase, target phrase)] of a derivation; the fifth field of its line has their
    positions, ``0-1=0-1 2=2``.
    """

    def span(words, places):
        first, _, last = places.partition("-")
        return " ".join(words[int(first) : int(last or first) + 1])

    words = source.split(), entry.text.split()
    pairs = (word.split("=") for word in entry.fields[4].split())
    return [(span(words[0], pair[0]), span(words[1], pair[1])) for pair in pairs]


def features(entry) -> list[float]:
    """The numbers of ``Name= number …``."""
    return [float(word) for word in entry.fields[2].split() if not word.endswith("=")]


def chosen_phrases(work) -> dict:
    """{"frequent", "rare": [(source, [(target, p(target | source))])]}, drawn from the most
    frequent tenth and the rarest half of the long phrases.
    """
    targets: dict = {}
    counts = {}
    for row in phrase_based.rows(phrase_based.system(work)):
        if len(row.source.split()) >= LONG:
            targets.setdefault(row.source, []).append((row.target, row.probability))
            counts[row.source] = row.count
    known = sorted(
        (source for source in targets if len(targets[source]) >= TRANSLATIONS),
        key=lambda source: (-counts[source], source),
    )
    generator = random.Random(SEED)
    parts = {"frequent": known[: -(-len(known) // 10)], "rare": known[len(known) // 2 :]}
    return {
        kind: [(each, targets[each]) for each in generator.sample(part, min(CHOSEN, len(part)))]
        for kind, part in parts.items()
    }


def listed(found) -> str:
    return " ".join(f"[{phrase}]" for phrase in found)


def table_2(work) -> Page:
    """The best translations of phrases by the table and by the model."""
    rows = []
    for kind, chosen in chosen_phrases(work).items():
        for source, targets in chosen:
            texts = [target for target, _ in targets]
            by_model = scorer(work, work.seeds[0]).score(
                [source] * len(texts), texts, tokenized=True
            )
            best = {
                "translation model": [probability for _, probability in targets],
                "RNN Encoder–Decoder": by_model,
            }
            rows.append({"phrases": kind, "source": source})
            for side, scores in best.items():
                order = sorted(range(len(texts)), key=lambda place: -scores[place])
                rows[-1][side] = listed(texts[place] for place in order[:SHOWN])
    text = [
        f"Random source phrases of at least {LONG} words, with at least {TRANSLATIONS} translations"
        " in the table; the best translations by p(target | source). Frequent: of the most frequent"
        " tenth; rare: of the rarer half."
    ]
    return Page("Cho et al. 2014a, Table 2: the best translations of phrases", rows, text=text)


def table_3(work) -> Page:
    """Samples of the model for the phrases of Table 2."""
    from rnnsearch_tf.translation.results import distinct

    rows = []
    for kind, chosen in chosen_phrases(work).items():
        sources = [source for source, _ in chosen]
        for source, samples in zip(sources, scorer(work, work.seeds[0]).sample(sources, SAMPLES)):
            best = distinct(samples)[:TOP]
            shown = (f"{text} (×{count})" if count > 1 else text for text, _, count in best)
            rows.append({"phrases": kind, "source": source, "samples": listed(shown)})
    text = [f"The {TOP} most probable of {SAMPLES} samples, with their counts."]
    return Page("Cho et al. 2014a, Table 3: samples", rows, text=text)


def figure_3(work) -> Page:
    """log p(target | source) by the phrase table and by the model, each phrase pair a point."""
    pairs = list(phrase_based.rows(phrase_based.system(work)))
    pairs = random.Random(SEED).sample(pairs, min(PAIRS, len(pairs)))
    table = np.array([math.log(row.probability) for row in pairs])
    counts = np.array([row.count for row in pairs])
    model = [
        np.array(scorer(work, seed).score(*sides([row[:2] for row in pairs]), tokenized=True))
        for seed in work.seeds
    ]
    kinds = {
        "any": counts > 0,
        "seen more than once": counts > 1,
        f"seen {FREQUENT} times or more": counts >= FREQUENT,
    }
    rows = [
        {
            "model": SCORER,
            "source phrase": kind,
            "pairs": int(chosen.sum()),
            "rank correlation": over_seeds(
                [rank_correlation(table[chosen], each[chosen]) for each in model]
            ),
        }
        for kind, chosen in kinds.items()
    ]
    text = [
        f"{len(pairs)} random phrase pairs of the table. x: log p(target | source) of the table, a"
        " relative frequency, the third of Moses's scores. y: that of the model, the end symbol"
        " included; natural logarithms. Both are equal on the line.",
        "Spearman's rank correlation. A source phrase that was seen once has p = 1 in the table,"
        " which gives a column of points at 0; so the right picture, with equal scales, has only"
        f" pairs whose source phrase was seen at least {FREQUENT} times. A dash: a score is the"
        " same for all pairs.",
        "The paper: many phrase pairs are scored similarly by both, but as many are scored"
        " radically differently.",
    ]
    picture = {"scores": scatter(table, model[0], kinds)}
    title = "Cho et al. 2014a, Figure 3: phrase pairs by two scores"
    return Page(title, rows, text=text, pictures=picture)


def rank_correlation(one, other) -> float | None:
    """Spearman's, with mean ranks for equal values; None if all values of a side are equal."""

    def ranks(values):
        _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
        return (np.cumsum(counts) - (counts - 1) / 2)[places]

    if len(set(one)) < 2 or len(set(other)) < 2:
        return None
    return float(np.corrcoef(ranks(one), ranks(other))[0, 1])


def scatter(table, model, kinds):
    """All pairs, and beside them those with frequent source phrases, on equal scales."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5.5), layout="constrained")
    everything, *_, frequent = kinds.items()
    for place, (kind, chosen) in enumerate((everything, frequent), start=1):
        axes = figure.add_subplot(1, 2, place, title=f"source phrase: {kind}")
        axes.set(
            xlabel="log p(target | source), phrase table",
            ylabel="log p(target | source), RNN Encoder–Decoder",
        )
        axes.scatter(table[chosen], model[chosen], s=8, color="tab:blue", alpha=0.3, linewidths=0)
        axes.axline((0, 0), slope=1, color="0.5", linewidth=0.8)
    lowest = min([*table[chosen], *model[chosen]], default=-1) - 0.5
    axes.set(xlim=(lowest, 0.5), ylim=(lowest, 0.5), aspect="equal")
    return figure


def figure_4(work) -> Page:
    """The source words in the plane."""
    from rnnsearch_tf.config import SPECIAL_TOKENS

    translator = scorer(work, work.seeds[0])
    first = len(SPECIAL_TOKENS)
    words = translator.source_text.vocabulary.tokens[first:][:WORDS]
    vectors = np.asarray(translator.model.source_embedding.E.value)[first:][:WORDS]
    text = [in_the_plane(len(words), "most frequent words: rows of the embedding")]
    title = "Cho et al. 2014a, Figure 4: words in the plane"
    return Page(title, [], text=text, pictures=zoomed_figures(vectors, words))


def vectors_of(translator, phrases) -> np.ndarray:
    """The context c of each phrase."""
    found = []
    for start in range(0, len(phrases), 64):
        ids = translator.source_text.encode(phrases[start : start + 64]).to_tensor()
        found.append(translator.model.source_vectors(ids).numpy())
    return np.concatenate(found).astype(np.float64)


def figure_5(work) -> Page:
    """Long phrases in the plane, and whether those with the same translation are close."""
    columns = {
        "near": "nearer than a phrase with as many words in common",
        "same": "cosine, same translation",
        "other": "cosine, as many words in common",
        "random": "cosine, random pair",
        "pairs": "pairs",
    }
    best = best_translations(phrase_based.rows(phrase_based.system(work)))
    triples = paraphrases(best, PARAPHRASES)
    found = [cosines(scorer(work, seed), triples) for seed in work.seeds]
    row = {title: over_seeds([each[key] for each in found]) for key, title in columns.items()}
    chosen = random.Random(SEED).sample(sorted(best), min(PHRASES, len(best)))
    vectors = vectors_of(scorer(work, work.seeds[0]), chosen)
    text = [
        in_the_plane(
            len(chosen), f"random phrases of {LONG} or more words: their context c from the encoder"
        ),
        "Are phrases of similar meaning close? Two source phrases count as similar in meaning if"
        " the table gives both the same likeliest translation. They share words, too. So each pair"
        " is compared with a third phrase of the same length, which has as many words in common"
        " with the first and another translation. Similarity is the cosine of the phrases' states."
        " The table has the mean cosines, and the share of pairs whose second phrase is nearer to"
        " the first than the third one is. If meaning does not matter, that is 1/2.",
    ]
    title = "Cho et al. 2014a, Figure 5: phrases in the plane"
    pictures = zoomed_figures(vectors, chosen)
    return Page(title, [{"model": SCORER} | row], text=text, pictures=pictures)


def in_the_plane(number, what) -> str:
    return (
        f"The {number} {what}, of the model of the first seed, by t-SNE. Framed regions, those"
        " with the most similar vectors, are also shown enlarged, in the same colour. Labels for"
        " which there is no room are left out."
    )


def best_translations(table) -> dict[str, str]:
    """{long source phrase: its likeliest translation}; of equally likely ones the first in the
    alphabet.
    """
    best: dict = {}
    for row in table:
        if len(row.source.split()) >= LONG:
            mine = -row.probability, row.target
            best[row.source] = min(best.get(row.source, mine), mine)
    return {source: target for source, (_, target) in best.items()}


def cosines(translator, triples) -> dict:
    """{"near": share, "same", "other", "random": mean cosines, "pairs"}: see Figure 5's page."""
    phrases = sorted({phrase for triple in triples for phrase in triple})
    vectors = vectors_of(translator, phrases)
    units = dict(zip(phrases, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)))
    first, second, third = (np.stack([units[each] for each in side]) for side in zip(*triples))
    same, other, any_two = (
        (first * side).sum(axis=1) for side in (second, third, np.roll(second, 1, axis=0))
    )
    values = {"near": same > other, "same": same, "other": other, "random": any_two}
    return {key: float(np.mean(each)) for key, each in values.items()} | {"pairs": len(triples)}


def paraphrases(translations: dict[str, str], number: int) -> list[tuple[str, str, str]]:
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

    def common(one, other):
        return set(one.split()) & set(other.split())

    generator = random.Random(SEED)
    of_translation: dict = {}
    of_word: dict = {}
    for phrase, translation in sorted(translations.items()):
        of_translation.setdefault(translation, []).append(phrase)
        for word in set(phrase.split()):
            of_word.setdefault(word, []).append(phrase)
    groups = [group for group in of_translation.values() if len(group) > 1]
    generator.shuffle(groups)
    found = []
    for group in groups:
        first, second = generator.sample(group, 2)
        shared = sorted(common(first, second))
        others = of_word[generator.choice(shared)] if shared else sorted(translations)
        for third in generator.sample(others, min(LOOKED_AT, len(others))):
            alike = len(third.split()) == len(second.split()) and len(common(first, third)) == len(
                shared
            )
            if alike and translations[third] != translations[first]:
                found.append((first, second, third))
                break
        if len(found) == number:
            break
    return found


def project(vectors) -> np.ndarray:
    """Vectors in the plane by t-SNE, which keeps neighbours close, but not distances."""
    from sklearn.manifold import TSNE

    perplexity = min(PERPLEXITY, (len(vectors) - 1) / 3)
    projection = TSNE(2, perplexity=perplexity, init="pca", random_state=1)
    return projection.fit_transform(np.asarray(vectors, np.float64)).astype(np.float64)


def zoomed_figures(vectors, texts) -> dict:
    """{"whole", "region-1", …: Figure}: the plane with frames around some regions, and each region
    enlarged in the colour of its frame.
    """
    from matplotlib.patches import Rectangle

    points = project(vectors)
    figures = {"whole": points_figure(points, texts)}
    axes = figures["whole"].axes[0]
    for colour, (centre, half) in zip(
        ("tab:red", "tab:blue", "tab:green"), regions(points, vectors)
    ):
        inside = np.flatnonzero(distances(points, centre) <= half)
        frame = Rectangle(tuple(centre - half), 2 * half, 2 * half, fill=False, linewidth=2)
        frame.set_edgecolor(colour)
        axes.add_patch(frame)
        chosen = [texts[k] for k in inside]
        figures[f"region-{len(figures)}"] = points_figure(points[inside], chosen, colour)
    return figures


def points_figure(points, texts, colour="0.6"):
    """Labelled points, the most important first; a label that would overlap an earlier one is left
    out.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 10), layout="constrained")
    axes = figure.add_subplot(xticks=[], yticks=[])
    axes.scatter(*np.transpose(points), s=8, color=colour, linewidths=0)
    figure.draw_without_rendering()  # computes positions
    boxes: list = []
    for point, text in zip(points, texts):
        label = axes.annotate(text[:40], point, (2, 2), textcoords="offset points", fontsize=8)
        box = label.get_window_extent()
        if any(box.overlaps(other) for other in boxes):
            label.remove()
        else:
            boxes.append(box)
    return figure


def regions(points, vectors, number: int = REGIONS, members: int = MEMBERS) -> list:
    """Squares (centre, half of the side), each around a point and `members` points in it, that do
    not overlap and whose vectors are most similar: by the mean cosine of all their pairs, after
    subtracting the mean of all vectors.
    """
    vectors = np.asarray(vectors, np.float64) - np.mean(vectors, axis=0)
    units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    halves = np.empty(len(points))
    similarity = np.empty(len(points))
    for k, point in enumerate(points):
        away = distances(points, point)
        nearest = np.argsort(away, kind="stable")[:members]
        halves[k] = away[nearest[-1]]
        # the squared norm of the mean is the mean of all products
        similarity[k] = np.sum(units[nearest].mean(axis=0) ** 2)
    found: list = []
    for k in np.argsort(-similarity, kind="stable"):
        if len(found) < number and all(
            distances(points[k], centre) > halves[k] + half for centre, half in found
        ):
            found.append((points[k], float(halves[k])))
    return found


def distances(points, centre):
    """Chebyshev distances, within which points lie in a square."""
    return np.abs(points - centre).max(axis=-1)


ITEMS = {
    "table1": table_1,
    "table2": table_2,
    "table3": table_3,
    "figure3": figure_3,
    "figure4": figure_4,
    "figure5": figure_5,
}

if __name__ == "__main__":
    main("cho2014", ITEMS, __doc__)
