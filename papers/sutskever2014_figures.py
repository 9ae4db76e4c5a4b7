"""Sutskever, Vinyals, Le 2014, the figures: sentence states by word order and voice, BLEU by length
and by word frequency.
"""

from __future__ import annotations

import functools
import itertools

import numpy as np

from papers import bahdanau2015
from papers.page import Page, over_seeds
from papers.sutskever2014 import translations

NOUNS = "man", "woman", "boy", "girl", "child", "dog"
VERBS = [
    ("holding", "held"),
    ("pulling", "pulled"),
    ("watching", "watched"),
    ("photographing", "photographed"),
]
"""Active and passive form; verbs and nouns are words of Multi30k's captions."""

WORD_ORDER = (
    [f"A man is {verb} a child." for verb in ("holding", "watching", "pulling")],
    [f"A child is {verb} a man." for verb in ("holding", "watching", "pulling")],
)
VOICE = (
    [
        "A man is holding a dog in the park.",
        "In the park, a man is holding a dog.",
        "A dog is being held by a man in the park.",
    ],
    [
        "A dog is holding a man in the park.",
        "In the park, a dog is holding a man.",
        "A man is being held by a dog in the park.",
    ],
)
"""Sentences of the pictures, in groups of the same meaning."""

PAIRS = len(NOUNS) * (len(NOUNS) - 1) // 2
"""Number of pairs of nouns. Sentences are compared for every verb and both orders of a pair; such
comparisons share sentences, so that only the pairs count as independent.
"""

BEAM = "12"


def figure_2(work, models) -> Page:
    """Sentence states in the plane, and how they depend on word order and voice."""
    columns = {
        "order": "word order",
        "voice": "voice",
        "same": "distance, same roles",
        "exchanged": "distance, roles exchanged",
    }
    rows = []
    for name in models:
        found = measured_states(work, name)
        rows.append(
            {"model": name}
            | {title: over_seeds([each[key] for each in found]) for key, title in columns.items()}
        )
    text = [
        (
            "Principal components of the states of all layers after the whole source, for the model"
            " of the first seed. The source is reversed: the word read last is the sentence's"
            " first. Colours show the meaning: who does it to whom."
        ),
        (
            f"The table uses the whole states of sentences with {len(NOUNS)} nouns and {len(VERBS)}"
            " verbs."
        ),
        "- active: `A man is holding a child.`",
        "- other verb: `A man is pulling a child.`",
        "- exchanged: `A child is holding a man.`, the same words as active",
        "- passive: `A child is being held by a man.`",
        (
            "Word order: how often active is nearer to other verb than to exchanged; a bag of words"
            " would give 0. Voice: how often passive is nearer to active than to exchanged. Passive"
            " means the same as active, but has its nouns in the order of exchanged. So 1 means"
            " that states depend on the meaning only, 0 that they depend on the order only. The"
            " last columns are the mean distances that voice compares."
        ),
    ]
    groups = {"word-order": WORD_ORDER, "voice": VOICE}
    places = work.measured(
        f"sentence-places-{models[0]}-{work.seeds[0]}",
        lambda: {kind: _places(work, models[0], each) for kind, each in groups.items()},
    )
    pictures = {kind: _meanings_figure(each, places[kind]) for kind, each in groups.items()}
    return Page(
        "Sutskever et al. 2014, Figure 2: sentence states under word order and voice",
        rows,
        [],
        text,
        pictures,
    )


def measured_states(work, name) -> list:
    """[{"order", "voice": shares from 0 to 1, "same", "exchanged": mean distances} of each seed];
    the page of Figure 2 explains them.
    """
    return work.of_each_seed("sentence-states", name, _measure_states)


def sentences_of(verb, first, second) -> tuple:
    """(active, passive, active with the roles exchanged).

    Example:
        >>> sentences_of(("holding", "held"), "man", "child")
        ('A man is holding a child.', 'A child is being held by a man.', 'A child is holding a
        man.')
    """
    active, passive = verb
    return (
        f"A {first} is {active} a {second}.",
        f"A {second} is being {passive} by a {first}.",
        f"A {second} is {active} a {first}.",
    )


def _measure_states(work, name, seed):
    roles = list(itertools.permutations(NOUNS, 2))
    sentences = [
        sentence for verb in VERBS for pair in roles for sentence in sentences_of(verb, *pair)
    ]
    states = _states(work, name, seed, sentences).reshape(len(VERBS), len(roles), 3, -1)
    active, passive, exchanged = np.moveaxis(states, 2, 0)
    other_verb = np.linalg.norm(active - np.roll(active, 1, axis=0), axis=-1)
    same_words, same, other = (
        np.linalg.norm(one - another, axis=-1)
        for one, another in ((active, exchanged), (passive, active), (passive, exchanged))
    )
    shares = {"order": other_verb < same_words, "voice": same < other}
    return {
        key: float(np.mean(values))
        for key, values in (shares | {"same": same, "exchanged": other}).items()
    }


def _states(work, name, seed, sentences):
    from rnnsearch_tf.extras.plots.vectors import sentence_vectors

    translator = work.translator(name, seed)
    return sentence_vectors(translator.model, translator.source_text, sentences)


def _places(work, name, groups):
    """[[x, y] of each sentence] in the plane of the principal components."""
    from rnnsearch_tf.extras.plots.vectors import project

    return project(_states(work, name, work.seeds[0], sum(groups, [])), "pca").tolist()


def _meanings_figure(groups, places):
    """Plot numbered points, in one colour for each meaning, with a legend of the sentences."""
    from matplotlib.figure import Figure

    points = iter(places)
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    number = itertools.count(1)
    axes = figure.add_subplot(xlabel="first component", ylabel="second component")
    for colour, marker, offset, sentences in zip(("tab:blue", "tab:red"), "os", (5, -12), groups):
        for sentence, point, k in zip(sentences, points, number):
            axes.scatter(*point, color=colour, marker=marker, label=f"{k}  {sentence}")
            axes.annotate(str(k), point, (offset, offset), textcoords="offset points")
    axes.margins(0.1)
    axes.set_aspect("equal", adjustable="datalim")  # same scale for both components
    figure.legend(loc="outside right center", fontsize=9, frameon=False)
    return figure


def figure_3(work, models) -> Page:
    """BLEU by the length of the source, and by the average frequency rank of its words.

    Args:
        work: Workspace.
        models: LSTMs, then an RNNsearch with whole words, whose vocabulary gives the ranks.
    """
    rows = []
    panels = {"tokens of the source sentence": {}, "average frequency rank of its words": {}}
    for name in models:
        found = measured_fifths(work, name, models[-1])
        for label, kind in zip(panels, ("length", "rank")):
            values = [[each[kind][k]["bleu"] for each in found] for k in range(len(found[0][kind]))]
            middles = [(group["lowest"] + group["highest"]) / 2 for group in found[0][kind]]
            panels[label][name] = middles, values
            rows += [
                _row(name, kind, group, over_seeds(each))
                for group, each in zip(found[0][kind], values)
            ]
    text = [
        (
            "test_2016_flickr, beam 12, BLEU of lower-cased tokens (the index has 13a with case)."
            " The sentences are sorted by length, or by the average frequency rank of their words,"
            " and divided into fifths; a point is in the middle of its fifth. A word's rank is its"
            f" position in the English vocabulary of {models[-1]}, which is sorted by falling"
            f" frequency. {models[-1]} was trained on joined captions. With several seeds bars are"
            " standard deviations."
        ),
        "The paper: no degradation on sentences of fewer than 35 words.",
    ]
    return Page(
        "Sutskever et al. 2014, Figure 3: BLEU by length and by frequency of the words",
        rows,
        [],
        text,
        {"curves": bahdanau2015.curves_figure(panels)},
    )


def measured_fifths(work, name, words) -> list:
    """[{"length", "rank": fifths of the sentences, each with its BLEU} of each seed] of a model;
    `words` is the model with whole words.
    """
    return work.of_each_seed(
        "sutskever-figure3", name, functools.partial(_figure_3_of, words=words)
    )


def _row(name, kind, group, bleu):
    between = f"{kind} {group['lowest']:.0f}–{group['highest']:.0f}"
    return {"model": name, "sentences of": between, "sentences": group["sentences"], "BLEU": bleu}


def _figure_3_of(work, name, seed, words):
    """{"length", "rank": fifths of the sentences, see evaluation.groups.by_frequency_rank}."""
    from rnnsearch_tf.evaluation.groups import average_ranks, by_frequency_rank
    from rnnsearch_tf.evaluation.words import tokenized
    from papers.corpora import read_multi30k

    sources, references = read_multi30k(work.data, "test")
    # one of its models is enough: all seeds have the same vocabularies
    translator = work.translator(words, work.seeds[0])
    side = translator.source_text
    target = translator.target_text
    if name == words:  # the captions are the first lines of its test text
        tokens = bahdanau2015.translations(work, name, seed)["tokens"][: len(sources)]
    else:
        tokens = tokenized(target, translations(work, name, [seed])[BEAM]["texts"])
    compared = tokens, tokenized(target, references)
    lengths = [len(tokens) for tokens in side.tokenize(sources).to_list()]

    def fifths(numbers):
        return by_frequency_rank(*compared, numbers, lowercase=True, tokenize="none")

    return {"length": fifths(lengths), "rank": fifths(average_ranks(side, sources))}
