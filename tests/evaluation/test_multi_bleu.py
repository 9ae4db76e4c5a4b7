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


@pytest.mark.parametrize(
    "translations, references, lowercase, printed",  # the last by multi-bleu.perl
    [
        (TRANSLATIONS, REFERENCES, False, "52.11"),
        (TRANSLATIONS, REFERENCES, True, "58.47"),
        (REFERENCES[0], [TRANSLATIONS], False, "46.34"),  # shorter than their references
    ],
)
def test_ours_is_the_scripts(translations, references, lowercase, printed):
    assert f"{ours(translations, references, lowercase):.2f}" == printed


def ours(translations, references, lowercase=False):
    return bleu(translations, references, tokenize="none", lowercase=lowercase).score


def test_an_order_without_a_right_ngram_is_smoothed():
    """sacreBLEU's smooth:exp takes half a right n-gram, here of two; the script says 0."""
    precisions = 6 / 7 * 3 / 5 * 1 / 3 * 0.5 / 2
    expected = 100 * math.exp(1 - 8 / 7) * precisions**0.25
    found = ours(["Le chat noir dort .", "Oui ."], [["Le chat noir est là .", "Oui ."]])
    assert found == pytest.approx(expected, rel=1e-9)


def test_letters_with_accents_are_lower_cased():
    """The script has État and état as two words, also with -lc."""
    lines = "Mais l' État dit NON à la loi .", "mais l' état dit non à la loi ."
    assert ours([lines[0]], [[lines[1]]], lowercase=True) == pytest.approx(100)
