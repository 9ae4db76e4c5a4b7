"""Luong, Pham, Manning 2015: the forms of attention, with and without input feeding, on the
built-in corpus.

Its grammar knows the correct word alignment, so the alignment error rate is exact.
"""

from __future__ import annotations

from papers.page import Page


def attention(work, models) -> Page:
    """BLEU and alignment error rate of each form of attention."""
    rows = [{"model": name.removeprefix("phrasebook-")} | measured(work, name) for name in models]
    text = [
        "The held-out sentences of the built-in corpus, beam 5. Links: each target word is linked"
        " to the source word it attends to most while the model is fed the reference. The gold"
        " links are the grammar's; all are sure."
    ]
    # Table 6
    paper = [
        {"model": model, "AER, English–German (RWTH)": rate}
        for model, rate in (
            ("global, location", 0.39),
            ("local-m, general", 0.34),
            ("local-p, general", 0.36),
            ("ensemble", 0.34),
            ("Berkeley aligner", 0.32),
        )
    ]
    return Page("Luong et al. 2015: forms of attention", rows, paper, text)


def measured(work, name) -> dict:
    """Measure a model of the built-in corpus, with the first seed.

    Returns:
        {"BLEU", "AER", "precision", "recall"}.
    """
    [found] = work.of_each_seed("attention", name, _measure)
    return found


def _measure(work, name, seed):
    from rnnsearch_tf.data.corpus import open_corpus
    from rnnsearch_tf.data.phrasebook import phrasebook_alignments
    from rnnsearch_tf.alignment.links import links
    from rnnsearch_tf.evaluation.bleu import bleu

    config = work.config(name, seed)
    translator = work.translator(name, seed)
    sources, references = (list(side) for side in zip(*open_corpus(config, "test")))
    gold = phrasebook_alignments(len(sources), config.data.phrasebook_seed, "test")
    texts = [each.text for each in translator.translate(sources)]
    found = [links(scored.alignment) for scored in translator.score_targets(sources, references)]
    return {"BLEU": bleu(texts, references).score} | error_rates(gold, found)


def error_rates(gold, found) -> dict:
    """{"AER", "precision", "recall"} of lists of links, one list for each sentence; all gold links
    are sure.
    """
    from rnnsearch_tf.alignment.aer import LinkCounts

    counts = LinkCounts()
    for sure, links in zip(gold, found, strict=True):
        counts.add(set(map(tuple, sure)), set(), set(map(tuple, links)))
    return {"AER": counts.error_rate, "precision": counts.precision, "recall": counts.recall}
