"""Bahdanau, Cho, Bengio 2015: the authors' own training recipe, preset groundhog, at small sizes
beside ours: learning curves and BLEU.
"""

from __future__ import annotations

from papers import bahdanau2015
from papers.corpora import read_multi30k
from papers.page import Page, over_seeds

TEXTS = {"phrasebook": "built-in corpus", "captions": "Multi30k"}
"""{corpus of a Recipe: its name on the page}."""


def page(work, models) -> Page:
    """Learning curves on the development text, and BLEU of the test text."""
    rows = []
    panels = {}
    for name in models:
        found = work.of_each_seed("recipe", name, _measure)
        corpus, system, *authors = name.split("-")
        text = TEXTS[corpus]
        recipe = "the authors'" if authors else "ours"
        updates, scores = zip(*found[0]["curve"])
        panel = panels.setdefault(f"thousands of updates, {text}", {})
        panel[f"{system}, {recipe}"] = [number / 1000 for number in updates], scores
        columns = {
            "development BLEU": [max(score for _, score in each["curve"]) for each in found],
            "test BLEU": [each["BLEU"] for each in found],
            "sentences a batch": [each["batch_size"] for each in found],
            "updates": [each["curve"][-1][0] for each in found],
            "minutes": [each["minutes"] for each in found],
        }
        rows.append(
            {"text": text, "model": bahdanau2015.plain(system), "recipe": recipe}
            | {name: over_seeds(values) for name, values in columns.items()}
        )
    text = [
        "The authors' recipe: Adadelta, weights from N(0, 0.01²) and orthogonal, the gradient of"
        " the summed loss clipped at norm 1, 20 batches of 80 sentences sorted together, the"
        " authors' beam search, no dropout; only sizes, vocabulary and on Multi30k the lower"
        " case of the text differ. On the built-in corpus RNNsearch learns from 4,000 pairs and"
        " RNNencdec from 40,000. It trains until"
        " five evaluations bring no better development BLEU: at most for 25 minutes on the"
        " built-in corpus, and for 24,000 updates on Multi30k. Ours trains for its number of"
        " updates.",
        "Development BLEU is of greedy translations, test BLEU of each recipe's own search, both"
        " as sacreBLEU tokenizes (13a); on Multi30k without case, as the models write lower case."
        " Minutes are of one core beside other work.",
    ]
    return Page(
        "Bahdanau et al. 2015: the authors' recipe at a small size",
        rows,
        text=text,
        pictures={"curves": bahdanau2015.curves_figure(panels, "development BLEU")},
    )


def _measure(work, name, seed):
    """{"curve": [[updates, development BLEU]], "BLEU" of the test text, "batch_size", "minutes"}"""
    from rnnsearch_tf.data.corpus import open_corpus
    from rnnsearch_tf.evaluation.bleu import bleu_of_model

    config = work.config(name, seed)
    if work.scale.recipes[name].corpus == "captions":
        sources, references = read_multi30k(work.data, "test")
    else:
        sources, references = (list(side) for side in zip(*open_corpus(config, "test")))

    texts = work.translated("recipe", name, seed, lambda: (sources, references))["texts"]
    seconds = work.trained(name, seed)["seconds"]
    return {
        "curve": [[each["batches"], each["bleu"]] for each in work.development_records(name, seed)],
        "BLEU": bleu_of_model(texts, references, config.target).score,
        "batch_size": config.data.batch_size,
        "minutes": None if seconds is None else seconds / 60,
    }
