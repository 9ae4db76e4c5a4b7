"""BLEU of tokens beside multi-bleu.perl, the script of the papers: what the script printed for some
lines, and this package's score.
"""

import math

import pytest

from rnnsearch_tf.evaluation.bleu import bleu

TRANSLATIONS = [
    "Un homme en T-shirt bleu se tient sur une échelle pour nettoyer une fenêtre .",
    "Deux chiens courent dans la neige et la neige et la neige .",
    "Le chat dort .",
    "Le ministre a dit que l' accord serait signé avant la fin de l' année .",
    "La réunion de Bruxelles a duré trois heures .",
    "Une femme , assise , lit .",
    "Oui .",
]
REFERENCES = [
    [
        "Un homme en t-shirt bleu est sur une échelle , en train de nettoyer une fenêtre .",
        "Deux chiens courent dans la neige .",
        "Le Chat dort .",
        "Le ministre a déclaré que l' accord serait signé avant la fin de l' année .",
        "La réunion à Bruxelles dura trois heures .",
        "Une femme assise lit un livre .",
        "Non .",
    ],
    [
        "un homme sur une échelle nettoie une fenêtre .",
        "Deux chiens jouent dans la neige et courent .",
        "Un chat est en train de dormir .",
        "Selon le ministre , l' accord serait signé avant la fin de l' année .",
        "La réunion de Bruxelles aura duré trois longues heures .",
        "Une femme lit .",
        "Oui , bien sûr .",
    ],
]
"""The fifth sentence has 9 words, its references 8 and 10: the closest length is 8."""

CAPITALS = ["Mais l' État dit NON à la loi ."], [["mais l' état dit non à la loi ."]]
NO_FOUR = ["Le chat noir dort .", "Oui ."], [["Le chat noir est là .", "Oui ."]]
SHORT = ["Le chat .", "Oui ."], [["Le chat .", "Oui ."]]


# -lc, and what multi-bleu.perl printed
CASES = {
    "one reference": (
        TRANSLATIONS,
        REFERENCES[:1],
        False,
        "BLEU = 45.70, 72.7/52.5/40.4/28.3 (BP=1.000, ratio=1.082, hyp_len=66, ref_len=61)",
    ),
    "two references": (
        TRANSLATIONS,
        REFERENCES,
        False,
        "BLEU = 52.11, 80.3/61.0/46.2/32.6 (BP=1.000, ratio=1.048, hyp_len=66, ref_len=63)",
    ),
    "two references, -lc": (
        TRANSLATIONS,
        REFERENCES,
        True,
        "BLEU = 58.47, 81.8/67.8/53.8/39.1 (BP=1.000, ratio=1.048, hyp_len=66, ref_len=63)",
    ),
    "short translations": (
        REFERENCES[0],
        [TRANSLATIONS],
        False,
        "BLEU = 46.34, 78.7/57.4/44.7/31.7 (BP=0.921, ratio=0.924, hyp_len=61, ref_len=66)",
    ),
    "no four words": (
        *SHORT,
        False,
        "BLEU = 0.00, 100.0/100.0/100.0/0.0 (BP=1.000, ratio=1.000, hyp_len=5, ref_len=5)",
    ),
    "no four words right": (
        *NO_FOUR,
        False,
        "BLEU = 0.00, 85.7/60.0/33.3/0.0 (BP=0.867, ratio=0.875, hyp_len=7, ref_len=8)",
    ),
    "capitals, -lc": (
        *CAPITALS,
        True,
        "BLEU = 66.06, 88.9/75.0/57.1/50.0 (BP=1.000, ratio=1.000, hyp_len=9, ref_len=9)",
    ),
}
OTHER = {"no four words right", "capitals, -lc"}
"""Where this package differs, see evaluation/bleu.py."""


def ours(translations, references, lowercase):
    return bleu(translations, references, tokenize="none", lowercase=lowercase).score


@pytest.mark.parametrize("name", [name for name in CASES if name not in OTHER])
def test_ours_is_the_scripts(name):
    *texts, printed = CASES[name]
    assert f"BLEU = {ours(*texts):.2f}, " == printed[: printed.index(",") + 2]


def test_an_order_without_a_right_ngram_is_smoothed():
    """sacreBLEU's smooth:exp takes half a right n-gram, here of two; the script says 0."""
    precisions = 6 / 7 * 3 / 5 * 1 / 3 * 0.5 / 2
    expected = 100 * math.exp(1 - 8 / 7) * precisions**0.25
    assert ours(*CASES["no four words right"][:3]) == pytest.approx(expected, rel=1e-9)


def test_letters_with_accents_are_lower_cased():
    """The script has État and état as two words, also with -lc."""
    assert ours(*CASES["capitals, -lc"][:3]) == pytest.approx(100)


def test_no_break_spaces_separate_tokens():
    """A token of the script may hold one; no token of this package does."""
    lines = ["il y a 10\u00a0000 pages ici"], [["il y a 10\u00a0000 pages là"]]
    apart = [line.replace("\u00a0", " ") for line in (lines[0][0], lines[1][0][0])]
    assert ours(*lines, False) == ours(apart[:1], [apart[1:]], False)
