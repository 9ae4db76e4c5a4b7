"""Bahdanau, Cho, Bengio 2015: RNNencdec and RNNsearch, trained on sentences of up to 30 and up to
50 words.

    python -m papers.bahdanau2015 table1 table2 table3 figure2 figure3 --data DATA --seeds 3

Captions have 12 words on average, the paper's sentences up to 50 and more: neighbouring captions
are joined, up to four for training and up to five for the test. BLEU is of lower-cased tokens
(multi-bleu.perl). The row of the phrase-based system needs `pip install ".[smt]"`.
"""

from __future__ import annotations

import random

import numpy as np

from papers import phrase_based
from papers.common import (
    Page,
    bleu,
    cells_over_seeds,
    curves_figure,
    main,
    over_seeds,
    tokens,
)

TEXT = "up-to-50"
"""The text of which the test set is: only training text is limited in length."""
BEAM = 12
SCORED = 500
"""Number of sentences of each text whose negative log-likelihood is measured."""
ENOUGH = 50
"""Number of sentences of a length that makes its BLEU meaningful."""
SHOWN_LENGTHS = 10, 20
SHOWN = 4
"""Fewest and most words of the sentences whose alignments are plotted, and their number: "randomly
selected samples among the sentences without any unknown words and of length between 10 and 20 words
from the test set".
"""

MODELS = "rnnencdec-30", "rnnsearch-30", "rnnencdec-50", "rnnsearch-50"
LONGER = "rnnsearch-50-longer"
"""Trained twice as long, with the first seed; in the paper 2.3 times as long."""

PAPER_TABLE_1 = [
    ("rnnencdec-30", 13.93, 24.19),
    ("rnnsearch-30", 21.50, 31.44),
    ("rnnencdec-50", 17.82, 26.71),
    ("rnnsearch-50", 26.75, 34.16),
    ("rnnsearch-50-longer", 28.45, 36.15),
    ("Moses", 33.30, 35.63),
]
PAPER_TABLE_2 = [
    ("rnnencdec-30", 846_000, 6.4, 109.0, 28.1, 53.0),
    ("rnnsearch-30", 471_000, 3.6, 113.0, 26.7, 47.2),
    ("rnnencdec-50", 600_000, 4.5, 108.0, 44.0, 43.6),
    ("rnnsearch-50", 288_000, 2.2, 111.0, 40.7, 38.1),
    ("rnnsearch-50-longer", 667_000, 5.0, 252.0, 36.7, 35.2),
]


def with_seeds(work) -> dict:
    """{model: its seeds}."""
    return {name: work.seeds for name in MODELS} | {LONGER: work.seeds[:1]}


def translations(work, name, seed, allow_unknown=True) -> list[str]:
    """The test text as translated, tokens separated by spaces.

    They cannot be recovered from the detokenized text: Moses's rules split off a full stop inside a
    line only if a capital follows, and these models write lower case.
    """

    def translate():
        found = work.translator(name, seed).translate(
            work.lines(TEXT, "test", "en"), beam_size=BEAM, allow_unknown=allow_unknown
        )
        return [" ".join(each.tokens) for each in found]

    ending = "" if allow_unknown else "-no-unk"
    return work.output(f"{TEXT}{ending}-{name}-{seed}", translate)


def references(work) -> list[str]:
    return tokens(work.lines(TEXT, "test", "fr"), "fr")


def known(work, models) -> list[int]:
    """Positions of the test pairs in which all of these models know all words, so that all are
    scored on the same pairs.
    """
    from rnnsearch_tf.text.vocabulary import Vocabulary

    places = set(range(len(references(work))))
    for side, language in (("source", "en"), ("target", "fr")):
        lines = tokens(work.lines(TEXT, "test", language), language)
        for name in models:
            run = work.run(name, work.seeds[0])
            words = set(Vocabulary.load(run.vocabulary(side)).tokens)
            places = {place for place in places if words.issuperset(lines[place].split())}
    return sorted(places)


def table_1(work) -> Page:
    """BLEU of all sentences, and of those without unknown words, where the decoder may not write
    one.
    """
    gold = references(work)
    few = known(work, with_seeds(work))
    single = len(work.lines("captions", "test", "en"))  # they come first

    def cells(texts, forbidden):
        return {
            "All": bleu(texts, gold),
            "single captions": bleu(texts[:single], gold[:single]),
            "No UNK": bleu([forbidden[i] for i in few], [gold[i] for i in few]),
            "sentences without UNK": len(few),
        }

    rows = []
    for name, seeds in with_seeds(work).items():
        found = [
            cells(*(translations(work, name, seed, allowed) for allowed in (True, False)))
            for seed in seeds
        ]
        rows.append({"model": name} | cells_over_seeds(found))
    text = [phrase_based.MISSING]
    if phrase_based.is_available(work):
        texts = phrase_based.translated_test(work)
        rows.append({"model": phrase_based.NAME} | cells(texts, texts))
        text = [f"{phrase_based.WEAKER} The networks learned from joined captions."]
    text.append(
        "BLEU of tokens. Sentences without UNK are those in which all models know all words; there"
        " the networks may not write UNK, as in the paper."
    )
    paper = [dict(zip(("model", "All", "No UNK"), row)) for row in PAPER_TABLE_1]
    return Page("Bahdanau et al. 2015, Table 1: BLEU", rows, paper, text)


def table_2(work) -> Page:
    """Training time of the models, and their negative log-likelihoods."""
    rows = []
    for name, seeds in with_seeds(work).items():
        found = work.of_each_seed("training", name, _training, seeds)
        rows.append({"model": name} | cells_over_seeds(found))
    text = [
        f"NLL: mean negative log-likelihood of a sentence, in nats, of the first {SCORED} pairs of"
        " each text. Training pairs have at most 30 or 50 words; the development text, the same for"
        " all models, has longer ones, too. Training with label smoothing of 0.1 raises it."
    ]
    paper = [dict(zip(rows[0], row)) for row in PAPER_TABLE_2]
    return Page("Bahdanau et al. 2015, Table 2: training", rows, paper, text)


def _training(work, name, seed):
    config = work.config(name, seed)
    last = work.development(name, seed)[-1]
    text = f"up-to-{name.split('-')[1]}"
    pairs = len(work.lines(text, "train", "en"))

    def nll(part):
        sides = (side[:SCORED] for side in work.pairs(text, part))
        return -float(np.mean(work.translator(name, seed).score(*sides)))

    return {
        "updates": last["batches"],
        "epochs": last["batches"] * config.data.batch_size / pairs,
        "hours": last["minutes"] / 60,
        "training NLL": nll("train"),
        "development NLL": nll("development"),
    }


def figure_2(work) -> Page:
    """BLEU by the length of the source sentence."""
    from rnnsearch_tf.evaluation.bleu import by_length

    gold = references(work)
    lengths = [len(line.split()) for line in tokens(work.lines(TEXT, "test", "en"), "en")]
    groups = {
        name: [
            by_length(translations(work, name, seed), gold, lengths, tokenize="none")
            for seed in work.seeds
        ]
        for name in MODELS
    }
    if phrase_based.is_available(work):
        groups[phrase_based.NAME] = [
            by_length(phrase_based.translated_test(work), gold, lengths, tokenize="none")
        ]
    rows, curves = [], {}
    for name, found in groups.items():
        values = [[each[k]["bleu"] for each in found] for k in range(len(found[0]))]
        columns = [f"{group['shortest']}–{group['longest']}" for group in found[0]]
        rows.append({"model": name} | dict(zip(columns, map(over_seeds, values))))
        chosen = [k for k, each in enumerate(found[0]) if each["sentences"] >= ENOUGH]
        chosen = chosen or range(len(values))
        curves[name] = [found[0][k]["shortest"] + 4.5 for k in chosen], [values[k] for k in chosen]
    numbers = ", ".join(f"{c} tokens {g['sentences']}" for c, g in zip(columns, found[0]))
    text = [
        f"BLEU of tokens. Sentences of each length: {numbers}. Tokens include punctuation; the"
        " limits of 30 and 50 in training are of words between spaces. The picture shows the"
        f" lengths with at least {ENOUGH} sentences; with several seeds its curves are means, its"
        " bars standard deviations."
    ]
    if phrase_based.NAME in groups:
        text.append(phrase_based.WEAKER)
    return Page(
        "Bahdanau et al. 2015, Figure 2: BLEU by sentence length",
        rows,
        text=text,
        pictures={"curves": curves_figure({"tokens of the source sentence": curves})},
    )


def figure_3(work) -> Page:
    """Attention weights of translations."""
    name, seed = "rnnsearch-50", work.seeds[0]
    sources = work.lines(TEXT, "test", "en")
    fewest, most = SHOWN_LENGTHS
    fitting = [
        sources[place]
        for place in known(work, [name])
        if fewest <= len(sources[place].split()) <= most
    ]
    chosen = random.Random(1).sample(fitting, min(SHOWN, len(fitting)))
    found = work.translator(name, seed).translate(chosen, beam_size=BEAM, allow_unknown=False)
    rows = [
        {"picture": number, "source": source, "translation": each.text}
        for number, (source, each) in enumerate(zip(chosen, found), start=1)
    ]
    text = [
        "Source words are along the top, target words down the side; α_ij from 0 (black) to 1"
        " (white). As for three of the paper's four pictures, the sentences are drawn from those"
        f" of {fewest} to {most} words without any unknown word."
    ]
    pictures = {str(number): each.plot() for number, each in enumerate(found, start=1)}
    return Page("Bahdanau et al. 2015, Figure 3: alignments", rows, text=text, pictures=pictures)


def table_3(work) -> Page:
    """Long sentences, translated by each model."""
    sources, gold = work.pairs(TEXT, "test")
    longest = sorted(range(len(sources)), key=lambda i: -len(sources[i].split()))[:3]
    lines = [sources[i] for i in longest]
    found = {
        name: work.translator(name, work.seeds[0]).translate(lines, beam_size=BEAM)
        for name in ("rnnencdec-50", "rnnsearch-50")
    }
    rows = [
        {"source": sources[i], "reference": gold[i]}
        | {name: each[number].text for name, each in found.items()}
        for number, i in enumerate(longest)
    ]
    return Page("Bahdanau et al. 2015, Table 3: long sentences", rows)


ITEMS = {
    "table1": table_1,
    "table2": table_2,
    "table3": table_3,
    "figure2": figure_2,
    "figure3": figure_3,
}

if __name__ == "__main__":
    main("bahdanau2015", ITEMS, __doc__)
