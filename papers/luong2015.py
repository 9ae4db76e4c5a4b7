"""Luong, Pham, Manning 2015: the forms of attention, on the built-in corpus with and without input
feeding, and on Multi30k.

The grammar of the built-in corpus knows the correct word alignment, so the alignment error rate is
exact.
"""

from __future__ import annotations

import itertools

from papers.claim import System, between, kept_counts
from papers.corpora import read_multi30k
from papers.page import Page, over_seeds
from papers.resampling import Counts, counts_of

SIZES = (
    "phrasebook-rnnsearch and its variants (coverage, LSTM units, windows) learned from 4,000"
    " sentences, Luong's forms of attention from 40,000, with more updates: the two groups cannot"
    " be compared."
)
"""What the pages say of models of the built-in corpus."""

SCORES = "captions-dot", "captions-general", "captions-concat"
COMPARED = (
    *((f"{score}-feeding", score) for score in ("dot", "general", "concat")),
    *itertools.combinations(("dot", "general", "concat"), 2),
)
"""The pairs of forms of attention whose differences the pages give."""


def attention(work, models) -> Page:
    """BLEU and alignment error rate of each form of attention."""
    rows = []
    systems = {}
    for name in models:
        found = measured(work, name)
        form = name.removeprefix("phrasebook-")
        rows.append(
            {"model": form} | {key: over_seeds([each[key] for each in found]) for key in found[0]}
        )
        keys = [f"attention-{name}-{seed}" for seed in work.seeds_of(name)]
        systems[form] = System([each["BLEU"] for each in found], kept_counts(work, keys))
    text = [
        "The held-out sentences of the built-in corpus, beam 5. Links: each target word is linked"
        " to the source word it attends to most while the model is fed the reference. The gold"
        " links are the grammar's; all are sure.",
        SIZES,
        _differences(systems),
        "The paper's Table 6 has alignment error rates of English–German for forms that are not"
        " here: 0.39 for scores of the location, 0.34 and 0.36 for local attention.",
    ]
    return Page("Luong et al. 2015: forms of attention", rows, text=text)


def _differences(systems):
    """The differences between {form of attention: System} as text."""
    differences = ", ".join(
        f"{better} − {worse} {between(systems[better], systems[worse]).shown()}"
        for better, worse in COMPARED
        if {better, worse} <= systems.keys()
    )
    return (
        "Differences of test BLEU, with the 95 % confidence interval over seeds and a resampled"
        f" test text (*): {differences}."
    )


def measured(work, name) -> list:
    """Measure a model of the built-in corpus.

    Returns:
        [{"BLEU", "AER", "precision", "recall"} of each seed].
    """
    return work.of_each_seed("attention", name, _measure)


def _measure(work, name, seed):
    from rnnsearch_tf.data.corpus import open_corpus
    from rnnsearch_tf.data.phrasebook import phrasebook_alignments
    from rnnsearch_tf.alignment.links import links

    config = work.config(name, seed)
    sources, references = (list(side) for side in zip(*open_corpus(config, "test")))

    def translate():
        translator = work.translator(name, seed)
        texts = [each.text for each in translator.translate(sources)]
        scored = translator.score_targets(sources, references)
        return {
            "texts": texts,
            "counts": counts_of(texts, references, tokenize="13a"),
            "links": [links(each.alignment) for each in scored],
        }

    found = work.output(f"attention-{name}-{seed}", translate)
    gold = phrasebook_alignments(len(sources), config.data.phrasebook_seed, "test")
    bleu = float(Counts(found["counts"]).bleu()[0])
    return {"BLEU": bleu} | error_rates(gold, found["links"])


def scores(work, models) -> Page:
    """BLEU of the three scores on single captions, and their differences."""
    rows = []
    systems = {}
    for name in models:
        found = work.of_each_seed("luong", name, _score)
        score = name.removeprefix("captions-")
        bleu = [each["BLEU"] for each in found]
        development = [each["development"] for each in found]
        rows.append(
            {
                "score": score,
                "test BLEU": over_seeds(bleu),
                "development BLEU": over_seeds(development),
            }
        )
        keys = [f"luong-{name}-{seed}" for seed in work.seeds_of(name)]
        systems[score] = System(bleu, kept_counts(work, keys))
    text = [
        "A two-layer LSTM with global attention, without input feeding. BLEU as sacreBLEU"
        " tokenizes (13a, cased): development BLEU of 500 captions of val, translated greedily, at"
        " its best in training; test BLEU of test_2016_flickr, with the beam of the configuration.",
        _differences(systems),
    ]
    return Page("Luong et al. 2015: the scores of attention on Multi30k", rows, text=text)


def _translated(work, name, seed):
    return work.translated("luong", name, seed, lambda: read_multi30k(work.data, "test"))


def _score(work, name, seed):
    """{"BLEU" of the test captions, "development": the best BLEU in training}"""
    counts = Counts(_translated(work, name, seed)["counts"])
    best = max(each["bleu"] for each in work.development_records(name, seed))
    return {"BLEU": float(counts.bleu()[0]), "development": best}


def error_rates(gold, found) -> dict:
    """{"AER", "precision", "recall"} of lists of links, one list for each sentence; all gold links
    are sure.
    """
    from rnnsearch_tf.alignment.pharaoh import LinkCounts

    counts = LinkCounts()
    for sure, links in zip(gold, found, strict=True):
        counts.add(set(map(tuple, sure)), set(), set(map(tuple, links)))
    return {"AER": counts.error_rate, "precision": counts.precision, "recall": counts.recall}
