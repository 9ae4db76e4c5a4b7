"""Bahdanau, Cho, Bengio 2015: the authors' own training recipe, preset groundhog, at small sizes
beside ours: learning curves and BLEU.
"""

from __future__ import annotations

import json

from papers import bahdanau2015
from papers.page import Page, over_seeds


def page(work, models) -> Page:
    """Learning curves on the development text, and BLEU of the test text."""
    rows = []
    curves = {}
    for name in models:
        found = work.of_each_seed("recipe", name, _measure)
        label = "the authors' recipe" if name.endswith("-authors") else "our recipe"
        updates, scores = zip(*found[0]["curve"])
        curves[label] = [number / 1000 for number in updates], scores
        columns = {
            "development BLEU": [max(score for _, score in each["curve"]) for each in found],
            "test BLEU": [each["BLEU"] for each in found],
            "sentences a batch": [each["batch_size"] for each in found],
            "updates": [each["curve"][-1][0] for each in found],
            "minutes": [each["minutes"] for each in found],
        }
        rows.append(
            {"recipe": label} | {name: over_seeds(values) for name, values in columns.items()}
        )
    text = [
        "RNNsearch on the built-in corpus. The authors' recipe: Adadelta, weights from N(0, 0.01²)"
        " and orthogonal, the gradient of the summed loss clipped at norm 1, 20 batches of 80"
        " sentences sorted together, the authors' beam search; only the sizes and the vocabulary"
        " differ."
        " Development BLEU is of greedy translations, test BLEU of each recipe's own search. The"
        " authors' recipe trains until five evaluations bring no better development BLEU, at most"
        " for 25 minutes; ours for its number of updates. Minutes are of one core beside other"
        " work."
    ]
    return Page(
        "Bahdanau et al. 2015: the authors' recipe at a small size",
        rows,
        text=text,
        pictures={
            "curves": bahdanau2015.curves_figure(
                {"thousands of updates": curves}, "development BLEU"
            )
        },
    )


def _measure(work, name, seed):
    """{"curve": [[updates, development BLEU]], "BLEU" of the test text, "batch_size", "minutes"}"""
    from rnnsearch_tf.data.corpus import open_corpus
    from rnnsearch_tf.evaluation.bleu import bleu

    config = work.config(name, seed)
    sources, references = (list(side) for side in zip(*open_corpus(config, "test")))
    texts = [each.text for each in work.translator(name, seed).translate(sources)]
    lines = work.run(name, seed).metrics.read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    return {
        "curve": [
            [each["batches"], each["bleu"]] for each in records if each["kind"] == "development"
        ],
        "BLEU": bleu(texts, references).score,
        "batch_size": config.data.batch_size,
        "minutes": work.trained(name, seed)["seconds"] / 60,
    }
