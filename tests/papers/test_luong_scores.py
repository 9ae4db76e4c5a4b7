"""The pages of Luong's forms of attention: their scores on Multi30k and on the built-in corpus."""

import sacrebleu

from papers import luong2015
from papers.resampling import counts_of
from papers.workspace import Workspace

REFERENCES = ["a red car stops here now", "two dogs run over the grass", "the man reads a book"] * 4
GOOD = ["a red car stops here now", "two dogs run over the grass", "the man reads the book"] * 4
BAD = ["a red car is here now", "two dogs walk over the grass", "the man reads a book"] * 4


def test_bleu_and_differences(tmp_path):
    work = Workspace(tmp_path, None, seeds=[1, 2])
    for name, texts in zip(luong2015.SCORES, (GOOD, BAD, BAD)):
        for seed in work.seeds:
            counts = counts_of(texts, REFERENCES, tokenize="13a")
            work.output(
                f"luong-{name}-{seed}", lambda counts=counts: {"texts": [], "counts": counts}
            )
            bleu = sacrebleu.corpus_bleu(texts, [REFERENCES]).score
            work.measured(
                f"luong-{name}-{seed}", lambda bleu=bleu: {"BLEU": bleu, "development": 1.0}
            )
    page = luong2015.scores(work, luong2015.SCORES)
    good, bad, same = (row["test BLEU"] for row in page.ours)
    assert [row["score"] for row in page.ours] == ["dot", "general", "concat"]
    difference = good[0] - bad[0]
    assert bad == same and f"dot − general {difference:+.2f} ± " in page.text[1]
    assert "general − concat +0.000 (equal seeds) *" in page.text[1]


def test_forms_of_attention_have_a_value_of_each_seed(tmp_path):
    work = Workspace(tmp_path, None, seeds=[1, 2])
    for name, more, error_rate in (("dot", 0, 0.25), ("dot-feeding", 2.5, 0.5)):
        for seed in work.seeds:
            bleu = 90.0 + seed + more
            found = {"BLEU": bleu, "AER": error_rate, "precision": 0.75, "recall": 0.5}
            work.measured(f"attention-phrasebook-{name}-{seed}", lambda found=found: found)
    page = luong2015.attention(work, ["phrasebook-dot", "phrasebook-dot-feeding"])
    dot, feeding = page.ours
    assert (dot["model"], dot["BLEU"], dot["AER"]) == ("dot", [91.0, 92.0], [0.25, 0.25])
    assert (feeding["model"], feeding["AER"]) == ("dot-feeding", [0.5, 0.5])
    assert "dot-feeding − dot +2.50" in page.text[2] and "concat" not in page.text[2]
