"""BLEU of tokens beside multi-bleu.perl, the script of the papers: what the script printed for some
lines, its arithmetic written anew, and this package's score.
"""

import collections
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


def multi_bleu(translations, references, lowercase=False):
    """The script's last line. It reads bytes, so that -lc changes the letters A to Z alone, and a
    token ends at ASCII's white space alone.
    """
    correct, total = collections.Counter(), collections.Counter()
    translation_length = reference_length = 0
    for lines in zip(translations, *references):
        words, *others = (_tokens(line, lowercase) for line in lines)
        translation_length += len(words)
        # of lengths that are as close the shorter
        reference_length += min((abs(len(words) - len(each)), len(each)) for each in others)[1]
        for order in range(1, 5):
            counts = _ngrams(words, order)
            most = collections.Counter()
            for each in others:
                most |= _ngrams(each, order)
            correct[order] += sum((counts & most).values())
            total[order] += sum(counts.values())
    precisions = [correct[order] / total[order] if total[order] else 0.0 for order in range(1, 5)]
    penalty = 1.0
    if translation_length < reference_length:
        penalty = math.exp(1 - reference_length / translation_length)
    score = 0.0
    if all(precisions):  # no smoothing
        score = penalty * math.exp(sum(map(math.log, precisions)) / 4)
    return (
        100 * score,
        f"BLEU = {100 * score:.2f}, {'/'.join(f'{100 * each:.1f}' for each in precisions)}"
        f" (BP={penalty:.3f}, ratio={translation_length / reference_length:.3f},"
        f" hyp_len={translation_length}, ref_len={reference_length})",
    )


def _tokens(line, lowercase):
    line = line.encode()
    return (line.lower() if lowercase else line).split()


def _ngrams(words, order):
    return collections.Counter(zip(*(words[start:] for start in range(order))))


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


@pytest.mark.parametrize("name", CASES)
def test_the_arithmetic_is_the_scripts(name):
    *texts, printed = CASES[name]
    assert multi_bleu(*texts)[1] == printed


@pytest.mark.parametrize("name", [name for name in CASES if name not in OTHER])
def test_ours_is_the_scripts(name):
    *texts, _ = CASES[name]
    assert ours(*texts) == pytest.approx(multi_bleu(*texts)[0], rel=1e-9)


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
    assert "hyp_len=6" in multi_bleu(*lines)[1]
    apart = [line.replace("\u00a0", " ") for line in (lines[0][0], lines[1][0][0])]
    assert ours(*lines, False) == pytest.approx(multi_bleu(apart[:1], [apart[1:]])[0], rel=1e-9)
