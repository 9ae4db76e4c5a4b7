"""Sutskever, Vinyals, Le 2014: the deep LSTM with the source in order and reversed.

    python -m papers.sutskever2014 table1 depth table3 figure2 figure3 --data DATA --seeds 3
    python -m papers.sutskever2014 table2 --data DATA --seeds 3       # needs pip install ".[smt]"

All models learn from single captions in subwords. An ensemble is of the models of the first seeds,
which differ in their initial weights and in the order of minibatches.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from papers import bahdanau2015, phrase_based
from papers.common import (
    Page,
    bleu,
    curves_figure,
    main,
    over_seeds,
    tokens,
)

FORWARD, REVERSED = "lstm-forward", "lstm-reversed"
BEAMS = 1, 2, 12
LARGEST = 5
"""Models of the largest ensemble, as in the paper."""
EVEN = 0.5
"""Weight of the LSTM in the score of a hypothesis, §3.2."""

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

PERPLEXITY = (
    "Perplexity is of the references of test_2016_flickr per word, as the paper's: the models"
    " write subwords, whose log-probabilities are added up; the words are those that BLEU counts"
    " (13a), and the end symbol is one. Training with label smoothing of 0.1 raises it."
)


def key(name, seeds) -> str:
    """Of the outputs of a model, or of an ensemble of several seeds."""
    return f"{len(seeds)}-{name}-{seeds[0]}"


def translations(work, name, seeds, beam=12) -> list[str]:
    """The test captions translated by a model of one seed, or by an ensemble of several."""

    def translate():
        sources = work.lines("captions", "test", "en")
        found = work.translator(name, *seeds).translate(sources, beam_size=beam)
        return [each.text for each in found]

    return work.output(f"captions-{key(name, seeds)}-beam-{beam}", translate)


def measured_bleu(work, name, seeds, beam) -> float:
    gold = work.lines("captions", "test", "fr")
    return bleu(translations(work, name, seeds, beam), gold, tokenize="13a")


def perplexity(work, name, seed) -> float:
    """Of the test captions' references, per word."""
    from sacrebleu.metrics import BLEU

    def measure():
        sources, gold = work.pairs("captions", "test")
        scores = work.translator(name, seed).score(sources, gold)
        words = BLEU(tokenize="13a").corpus_score(gold, [gold]).ref_len
        return math.exp(-sum(scores) / (words + len(gold)))

    return work.measured(f"perplexity-{name}-{seed}", measure)


def groups(work) -> dict:
    """{system: (model, [the seeds of one model or ensemble])}."""
    alone = [[seed] for seed in work.seeds]
    most = min(LARGEST, len(work.seeds))
    return {"forward": (FORWARD, alone), "reversed": (REVERSED, alone)} | {
        f"ensemble of {size}, reversed": (REVERSED, [work.seeds[:size]])
        for size in range(2, most + 1)
    }


def table_1(work) -> Page:
    """Perplexity, and BLEU by beam size."""
    rows = []
    for system, (name, members) in groups(work).items():
        row = {"LSTM": system, "test perplexity": None}
        if "ensemble" not in system:
            row["test perplexity"] = over_seeds([perplexity(work, name, s) for s in work.seeds])
        for beam in BEAMS:
            row[f"beam {beam}"] = over_seeds(
                [measured_bleu(work, name, seeds, beam) for seeds in members]
            )
        rows.append(row)
    paper = [
        {"LSTM": "forward, beam 12", "test perplexity": 5.8, "BLEU": 26.17},
        {"LSTM": "reversed, beam 12", "test perplexity": 4.7, "BLEU": 30.59},
        {"LSTM": "ensemble of 5, reversed, beam 1", "test perplexity": None, "BLEU": 33.00},
        {"LSTM": "ensemble of 2, reversed, beam 12", "test perplexity": None, "BLEU": 33.27},
        {"LSTM": "ensemble of 5, reversed, beam 2", "test perplexity": None, "BLEU": 34.50},
        {"LSTM": "ensemble of 5, reversed, beam 12", "test perplexity": None, "BLEU": 34.81},
    ]
    text = [
        "BLEU (13a) on test_2016_flickr. The search ranks hypotheses by log-probability divided by"
        " length; the paper's by log-probability. Its perplexities are of §3.3.",
        PERPLEXITY,
    ]
    title = "Sutskever et al. 2014, Table 1: reversed source, beams, ensembles"
    return Page(title, rows, paper, text)


def depth(work) -> Page:
    """Perplexity and BLEU of LSTMs of one, two and three layers of the first seed."""
    seed = work.seeds[0]
    rows = [
        {
            "layers": layers,
            "test perplexity": perplexity(work, name, seed),
            "BLEU, beam 12": measured_bleu(work, name, [seed], 12),
        }
        for layers, name in enumerate(("lstm-1-layer", REVERSED, "lstm-3-layers"), start=1)
    ]
    text = [
        'The paper: "each additional layer reduced perplexity by nearly 10%". It has four layers'
        " of 1000 cells; these have 256, and all had the same number of updates. One model of each"
        " depth.",
        PERPLEXITY,
    ]
    return Page("Sutskever et al. 2014, §3.4: the number of layers", rows, text=text)


def table_2(work) -> Page:
    """BLEU of a phrase-based system whose n-best lists are rescored by LSTMs."""
    from rnnsearch_tf.extras.moses.nbest import read_nbest

    folder = phrase_based.system(work)
    lists = list(read_nbest(folder / "nbest.test"))
    gold = phrase_based.text(folder, "test", "fr")
    found = {"phrase-based": [bleu([entries[0].text for entries in lists], gold)]}
    for system, (name, members) in groups(work).items():
        found[f"rescored by {system}"] = [
            bleu(rescored(work, name, seeds, lists), gold) for seeds in members
        ]
    found["oracle"] = [bleu(list(map(nearest, lists, gold)), gold)]
    rows = [{"system": system, "BLEU": over_seeds(values)} for system, values in found.items()]
    paper = [
        {"system": "phrase-based", "BLEU": 33.30},
        {"system": "rescored by forward", "BLEU": 35.61},
        {"system": "rescored by reversed", "BLEU": 35.85},
        {"system": "rescored by ensemble of 5, reversed", "BLEU": 36.5},
        {"system": "oracle", "BLEU": "~45"},
    ]
    text = [
        "BLEU of lower-cased tokens on test_2016_flickr. The score of a hypothesis is the even"
        " average of the phrase-based system's score, whose weights sum to 1, and the LSTM's"
        " log-probability. The LSTMs were trained on cased text, so each hypothesis is detokenized"
        " and gets a capital first letter.",
        f"The lists have up to {phrase_based.NBEST} derivations, of which several may have the same"
        " words; the paper's have 1000.",
        phrase_based.WEAKER,
    ]
    return Page("Sutskever et al. 2014, Table 2: n-best lists rescored", rows, paper, text)


def nearest(entries, reference) -> str:
    """The hypothesis with the highest smoothed sentence BLEU; the first of equal ones. The corpus
    BLEU of these is the usual estimate of the oracle.
    """
    from sacrebleu.metrics import BLEU

    metric = BLEU(tokenize="none", effective_order=True, force=True)
    texts = list(dict.fromkeys(entry.text for entry in entries))
    return max(texts, key=lambda text: metric.sentence_score(text, [reference]).score)


def rescored(work, name, seeds, lists) -> list[str]:
    """The best hypothesis of each list by the even average of both scores."""

    def choose():
        captions = work.lines("captions", "test", "en")
        texts = list(dict.fromkeys(entry.text for entries in lists for entry in entries))
        sentences = dict(zip(texts, as_sentences(texts)))
        pairs = list(
            dict.fromkeys(
                (captions[entry.sentence], sentences[entry.text])
                for entries in lists
                for entry in entries
            )
        )
        scores = dict(zip(pairs, work.translator(name, *seeds).score(*map(list, zip(*pairs)))))

        def value(entry):
            score = scores[captions[entry.sentence], sentences[entry.text]]
            return (1 - EVEN) * entry.score + EVEN * score

        return [max(entries, key=value).text for entries in lists]

    return work.output(f"rescored-{key(name, seeds)}", choose)


def as_sentences(lines) -> list[str]:
    """French tokens as captions: detokenized, with a capital first letter."""
    import tensorflow as tf

    from rnnsearch_tf.text.moses import detokenize

    found = detokenize(tf.strings.split(tf.constant(lines)), "fr").numpy()
    texts = [text.decode("utf-8") for text in found]
    return [text[:1].upper() + text[1:] for text in texts]


def table_3(work) -> Page:
    """Long sentences, translated by the LSTM."""
    sources, gold = work.pairs("captions", "test")
    texts = translations(work, REVERSED, work.seeds[:1])
    longest = sorted(range(len(sources)), key=lambda i: -len(sources[i].split()))[:3]
    rows = [{"source": sources[i], "translation": texts[i], "reference": gold[i]} for i in longest]
    text = [f"The {len(longest)} longest captions of test_2016_flickr, beam 12."]
    return Page("Sutskever et al. 2014, Table 3: long sentences", rows, text=text)


def states(work, seed, sentences) -> np.ndarray:
    """The hidden states of all layers after each sentence."""
    translator = work.translator(REVERSED, seed)
    ids = translator.source_text.encode(sentences).to_tensor()
    return translator.model.source_vectors(ids).numpy()


def figure_2(work) -> Page:
    """Sentence states in the plane, and how they depend on word order and voice."""
    columns = {
        "order": "word order",
        "voice": "voice",
        "same": "distance, same roles",
        "exchanged": "distance, roles exchanged",
    }
    found = work.of_each_seed("sentence-states", REVERSED, lambda work, _, seed: roles(work, seed))
    row = {title: over_seeds([each[name] for each in found]) for name, title in columns.items()}
    text = [
        "Principal components of the states of all layers after the whole source, for the model of"
        " the first seed. The source is reversed: the word read last is the sentence's first."
        " Colours show the meaning: who does it to whom.",
        f"The table uses the whole states of sentences with {len(NOUNS)} nouns and {len(VERBS)}"
        " verbs: active (`A man is holding a child.`), other verb (`A man is pulling a child.`),"
        " exchanged (`A child is holding a man.`, the same words as active), passive (`A child is"
        " being held by a man.`).",
        "Word order: how often active is nearer to other verb than to exchanged; a bag of words"
        " would give 0. Voice: how often passive is nearer to active than to exchanged. Passive"
        " means the same as active, but has its nouns in the order of exchanged. So 1 means that"
        " states depend on the meaning only, 0 that they depend on the order only. The last columns"
        " are the mean distances that voice compares.",
    ]
    pictures = {
        kind: meanings_figure(groups, plane(states(work, work.seeds[0], sum(groups, []))))
        for kind, groups in {"word-order": WORD_ORDER, "voice": VOICE}.items()
    }
    title = "Sutskever et al. 2014, Figure 2: sentence states under word order and voice"
    return Page(title, [{"model": REVERSED} | row], text=text, pictures=pictures)


def sentences_of(verb, first, second) -> tuple[str, str, str]:
    """(active, passive, active with the roles exchanged).

    Example:
        >>> sentences_of(("holding", "held"), "man", "child")[1]
        'A child is being held by a man.'
    """
    active, passive = verb
    return (
        f"A {first} is {active} a {second}.",
        f"A {second} is being {passive} by a {first}.",
        f"A {second} is {active} a {first}.",
    )


def roles(work, seed) -> dict:
    """{"order", "voice": shares from 0 to 1, "same", "exchanged": mean distances}."""
    pairs = list(itertools.permutations(NOUNS, 2))
    sentences = [text for verb in VERBS for pair in pairs for text in sentences_of(verb, *pair)]
    found = states(work, seed, sentences).reshape(len(VERBS), len(pairs), 3, -1)
    active, passive, exchanged = np.moveaxis(found, 2, 0)

    def distance(one, other):
        return np.linalg.norm(one - other, axis=-1)

    same = distance(passive, active)
    other = distance(passive, exchanged)
    other_verb = distance(active, np.roll(active, 1, axis=0))
    return {
        "order": float(np.mean(other_verb < distance(active, exchanged))),
        "voice": float(np.mean(same < other)),
        "same": float(np.mean(same)),
        "exchanged": float(np.mean(other)),
    }


def plane(vectors) -> np.ndarray:
    """The vectors in the plane of their two principal components."""
    centred = np.asarray(vectors, np.float64) - np.mean(vectors, axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    return centred @ directions[:2].T


def meanings_figure(groups, places):
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


def in_fifths(texts, references, numbers) -> list[dict]:
    """[{"lowest", "highest": number, "sentences", "bleu"}] of the sentences sorted by a number and
    divided into fifths.
    """
    return [
        {
            "lowest": float(numbers[places[0]]),
            "highest": float(numbers[places[-1]]),
            "sentences": len(places),
            "bleu": bleu([texts[i] for i in places], [references[i] for i in places]),
        }
        for places in np.array_split(np.argsort(numbers, kind="stable"), 5)
        if len(places)
    ]


def figure_3(work) -> Page:
    """BLEU by the length of the source, and by the average frequency rank of its words."""
    words = "rnnsearch-50"  # has whole words, sorted by falling frequency
    sources, gold = work.pairs("captions", "test")
    gold = tokens(gold, "fr")
    source_tokens = tokens(sources, "en")
    numbers = {
        "length": [len(line.split()) for line in source_tokens],
        "rank": average_ranks(work, words, source_tokens),
    }
    panels = {"tokens of the source sentence": {}, "average frequency rank of its words": {}}
    rows = []
    for name in (FORWARD, REVERSED, words):
        texts = [_caption_tokens(work, name, seed, len(sources)) for seed in work.seeds]
        for panel, (kind, values) in zip(panels.values(), numbers.items()):
            found = [in_fifths(each, gold, values) for each in texts]
            scores = [[fifths[k]["bleu"] for fifths in found] for k in range(len(found[0]))]
            panel[name] = [(e["lowest"] + e["highest"]) / 2 for e in found[0]], scores
            rows += [
                {
                    "model": name,
                    "sentences of": f"{kind} {each['lowest']:.0f}–{each['highest']:.0f}",
                    "sentences": each["sentences"],
                    "BLEU": over_seeds(score),
                }
                for each, score in zip(found[0], scores)
            ]
    text = [
        "test_2016_flickr, beam 12, BLEU of lower-cased tokens. The sentences are sorted by length,"
        " or by the average frequency rank of their words, and divided into fifths; a point is in"
        " the middle of its fifth. A word's rank is its position in the English vocabulary of"
        f" {words}, which was trained on joined captions. With several seeds bars are standard"
        " deviations.",
        "The paper: no degradation on sentences of fewer than 35 words.",
    ]
    title = "Sutskever et al. 2014, Figure 3: BLEU by length and by frequency of the words"
    return Page(title, rows, text=text, pictures={"curves": curves_figure(panels)})


def _caption_tokens(work, name, seed, captions):
    """Translations of the captions as lower-cased tokens."""
    if name.startswith("rnnsearch"):  # they are the first lines of its test text
        return bahdanau2015.translations(work, name, seed)[:captions]
    return tokens(translations(work, name, [seed]), "fr")


def average_ranks(work, name, lines) -> list[float]:
    """The average frequency rank of the words of each line: positions in the vocabulary from 1;
    unknown words have the rank after the last.
    """
    from rnnsearch_tf.config import SPECIAL_TOKENS
    from rnnsearch_tf.text.vocabulary import Vocabulary

    vocabulary = Vocabulary.load(work.run(name, work.seeds[0]).vocabulary("source")).tokens
    words = vocabulary[len(SPECIAL_TOKENS) :]
    ranks = {word: rank for rank, word in enumerate(words, start=1)}
    rows = [[ranks.get(word, len(words) + 1) for word in line.split()] for line in lines]
    return [sum(row) / len(row) if row else 0.0 for row in rows]


ITEMS = {
    "table1": table_1,
    "depth": depth,
    "table2": table_2,
    "table3": table_3,
    "figure2": figure_2,
    "figure3": figure_3,
}

if __name__ == "__main__":
    main("sutskever2014", ITEMS, __doc__)
