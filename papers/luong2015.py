"""Luong, Pham, Manning 2015: the forms of attention, on the built-in corpus with and without input
feeding, and on Multi30k.

    python -m papers.luong2015 attention --seeds 3          # needs no data
    python -m papers.luong2015 scores --data DATA --seeds 3

The grammar of the built-in corpus knows the correct word alignment, so the alignment error rate is
exact. To compare two forms:

    sacrebleu REFERENCE -i DIR/outputs/A.txt DIR/outputs/B.txt --paired-bs -f text
"""

from __future__ import annotations

import rnnsearch_tf as rt
from papers.common import Page, bleu, cells_over_seeds, main, over_seeds

SCORES = "dot", "general", "concat"


def attention(work) -> Page:
    """BLEU and alignment error rate of each form of attention."""
    forms = ["rnnsearch", *(f"{score}{ending}" for score in SCORES for ending in ("", "-feeding"))]
    rows = []
    for form in forms:
        found = work.of_each_seed("attention", f"phrasebook-{form}", _measure)
        rows.append({"model": form} | cells_over_seeds(found))
    text = [
        "The held-out sentences of the built-in corpus, beam 5. Links: each target word is linked"
        " to the source word it attends to most while the model is fed the reference. The gold"
        " links are the grammar's; all are sure.",
        "RNNsearch learned from 4,000 sentences, Luong's forms of attention from 40,000, with more"
        " updates: the two groups cannot be compared.",
        "The paper's Table 6 has alignment error rates of English–German for forms that are not"
        " here: 0.39 for scores of the location, 0.34 and 0.36 for local attention.",
    ]
    return Page("Luong et al. 2015: forms of attention", rows, text=text)


def _measure(work, name, seed):
    from rnnsearch_tf.alignment.pharaoh import LinkCounts
    from rnnsearch_tf.alignment.links import links
    from rnnsearch_tf.data.phrasebook import phrasebook_alignments

    config = work.config(name, seed)
    sources, references = (list(side) for side in zip(*rt.open_corpus(config, "test")))
    translator = work.translator(name, seed)
    texts = work.output(
        f"{name}-{seed}", lambda: [each.text for each in translator.translate(sources)]
    )
    gold = phrasebook_alignments(len(sources), "test")
    counts = LinkCounts()
    scored = translator.score_targets(sources, references)
    for sure, each in zip(gold, scored, strict=True):
        counts.add(set(map(tuple, sure)), set(), set(links(each.alignment)))
    return {
        "BLEU": bleu(texts, references, tokenize="13a"),
        "AER": counts.error_rate,
        "precision": counts.precision,
        "recall": counts.recall,
    }


def scores(work) -> Page:
    """BLEU of the three scores on single captions."""
    sources, references = work.pairs("captions", "test")
    rows = []
    for score in SCORES:
        name = f"captions-{score}"
        test, development = [], []
        for seed in work.seeds:
            texts = work.output(
                f"{name}-{seed}",
                lambda: [each.text for each in work.translator(name, seed).translate(sources)],
            )
            test.append(bleu(texts, references, tokenize="13a"))
            development.append(max(each["bleu"] for each in work.development(name, seed)))
        rows.append(
            {
                "score": score,
                "test BLEU": over_seeds(test),
                "development BLEU": over_seeds(development),
            }
        )
    text = [
        "A two-layer LSTM with global attention, without input feeding. BLEU as sacreBLEU"
        " tokenizes (13a, cased): development BLEU of 500 captions of val, translated greedily, at"
        " its best in training; test BLEU of test_2016_flickr, with the beam of the configuration.",
    ]
    return Page("Luong et al. 2015: the scores of attention on Multi30k", rows, text=text)


ITEMS = {"attention": attention, "scores": scores}

if __name__ == "__main__":
    main("luong2015", ITEMS, __doc__)
