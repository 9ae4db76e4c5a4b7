"""Text with the sentence lengths and word frequencies of WMT'14, for trainings of the paper's size
where the corpus is not.

Words are syllables without meaning, drawn by the law of Zipf and Mandelbrot: the word of rank r has
a probability in proportion to (r + 2.7)^-EXPONENT, where the 15,000 most frequent words cover 93 %
of the text, as in §4.1 of Cho et al. 2014a. Lengths have a gamma distribution; those of a pair are
similar.
"""

import gzip

import numpy as np

TYPES = 500_000
EXPONENT = 1.26
COMMAS = 0.05
"""Number of different words, their law, share of words with a comma."""

MEAN_LENGTH = 28.0
SHAPE = 3.0
LONGEST = 120
"""Words of an English sentence: mean and shape of the gamma distribution, and the maximum."""

MORE_FRENCH = 1.1
"""French words for an English word."""

SYLLABLES = {
    side: [first + vowel for first in "bdfghjklmnprstvz" for vowel in vowels]
    for side, vowels in {"en": "aeiou", "fr": "aéèoi"}.items()
}


def write_text(folder, name, pairs, seed):
    """Write FOLDER/NAME.en.gz and NAME.fr.gz; returns their paths."""
    paths = [folder / f"{name}.{side}.gz" for side in SYLLABLES]
    for path, lines in zip(paths, pairs_of(pairs, seed)):
        with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as file:
            file.writelines(line + "\n" for line in lines)
    return paths


def pairs_of(pairs, seed):
    """(English lines, French lines)."""
    generator = np.random.default_rng(seed)
    english = generator.gamma(SHAPE, MEAN_LENGTH / SHAPE, pairs)
    french = english * MORE_FRENCH * generator.normal(1.0, 0.15, pairs)
    return tuple(
        list(_lines(generator, side, np.clip(lengths, 2, LONGEST).astype(int)))
        for side, lengths in zip(SYLLABLES, (english, french))
    )


def _lines(generator, side, lengths):
    """Sentences of so many words, with commas and a full stop."""
    chances = (np.arange(TYPES) + 3.7) ** -EXPONENT
    drawn = np.searchsorted(np.cumsum(chances) / chances.sum(), generator.random(lengths.sum()))
    has_comma = generator.random(len(drawn)) < COMMAS
    start = 0
    for end in np.cumsum(lengths):
        words = [
            _word(SYLLABLES[side], rank) + ("," if comma else "")
            for rank, comma in zip(drawn[start:end].tolist(), has_comma[start:end])
        ]
        start = end
        yield " ".join(words).rstrip(",").capitalize() + "."


def _word(syllables, rank):
    """The word of a rank: its digits to the base of 80."""
    word = syllables[rank % len(syllables)]
    while rank := rank // len(syllables):
        word += syllables[rank % len(syllables)]
    return word
