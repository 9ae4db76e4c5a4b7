"""Word alignment by attention: against the grammar's links of the built-in corpus, and compared
with word aligners on Multi30k.

    AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

All gold links are sure. Multi30k has no gold links: there S has the links of an aligner, and
1 − AER is the agreement of two alignments.
"""

from __future__ import annotations

from papers import luong2015
from papers.corpora import read_multi30k
from papers.page import Page
from rnnsearch_tf.alignment.aligners import ALIGNERS, align


def phrasebook(work, models) -> Page:
    """Alignment error rate of each form of attention, without and with guided alignment, and of the
    aligners.
    """
    rows = [
        {"system": name.removeprefix("phrasebook-")} | luong2015.measured(work, name)[0]
        for name in models
    ]
    for kind, name in ALIGNERS.items():
        found = work.measured(
            f"phrasebook-{kind}",
            lambda kind=kind: _phrasebook_of(kind, work.config(models[0], work.seeds[0])),
        )
        rows.append({"system": name, "BLEU": "–"} | found)
    text = [
        "The held-out sentences of the built-in corpus, beam 5. Links: each target word is linked"
        " to the source word it attends to most while the model is fed the reference. The gold"
        " links are the grammar's; all are sure. A model whose name ends in -guided was trained"
        " with the gold links of the training text. The aligners were trained on the training text"
        " of RNNsearch without links; their two directions are combined by grow-diag-final-and.",
        luong2015.SIZES,
    ]
    return Page("Alignment error rate on the built-in corpus", rows, [], text)


def _phrasebook_of(kind, config):
    from rnnsearch_tf.data.corpus import HELD_OUT_SIZE
    from rnnsearch_tf.data.phrasebook import phrasebook_alignments, phrasebook_tokens

    seed = config.data.phrasebook_seed
    sizes = {"train": config.data.phrasebook_size, "test": HELD_OUT_SIZE}

    def joined(sides):
        return [[" ".join(words) for words in side] for side in sides]

    train, test = (joined(phrasebook_tokens(size, seed, part)) for part, size in sizes.items())
    gold = phrasebook_alignments(HELD_OUT_SIZE, seed, "test")
    return luong2015.error_rates(gold, align(kind, train, test))


def multi30k(work, models) -> Page:
    """1 − AER of each alignment against each aligner's."""
    rows = work.measured(f"agreement-{work.seeds[0]}", lambda: _agreements(work, models))
    text = [
        "Agreement, 1 − AER, of each row with the links of each column, on test_2016_flickr and its"
        " references. The aligners were trained on the captions, as lower-cased Moses tokens; their"
        " two directions are combined by grow-diag-final-and. The model whose name ends in -guided"
        " was trained with fast_align's links."
    ]
    return Page("Agreement of attention with word aligners on Multi30k", rows, [], text)


def _agreements(work, models):
    of_aligners = {
        name: work.output(f"links-{kind}", lambda kind=kind: _links_of(work, models[0], kind))
        for kind, name in ALIGNERS.items()
    }
    rows = {name: _links_of_model(work, name, work.seeds[0]) for name in models} | of_aligners
    return [
        {"alignment": name}
        | {other: _agreement(gold, links) for other, gold in of_aligners.items()}
        for name, links in rows.items()
    ]


def _agreement(gold, links):
    return 1 - luong2015.error_rates(gold, links)["AER"]


def _links_of(work, model, kind):
    """An aligner's links of the test captions, tokenized like the model's."""
    from rnnsearch_tf.evaluation.words import tokenized

    translator = work.translator(model, work.seeds[0])
    texts = translator.source_text, translator.target_text
    train, test = (
        [tokenized(*side) for side in zip(texts, read_multi30k(work.data, part))]
        for part in ("train", "test")
    )
    return align(kind, train, test)


def _links_of_model(work, name, seed):
    from rnnsearch_tf.alignment.links import links

    def score():
        pairs = work.translator(name, seed).score_targets(*read_multi30k(work.data, "test"))
        return [links(scored.alignment) for scored in pairs]

    return work.output(f"links-{name}-{seed}", score)
