"""How RNNsearch, RNNencdec and a phrase-based system grow with the text that they learn from, on
single sentences of Tatoeba, English–French.

In Table 1 of Bahdanau, Cho, Bengio 2015 the phrase-based system is best on all sentences, and
RNNsearch is near it where no word is unknown. There they learned from millions of pairs, at the
small scale from 29,000 captions.
"""

from __future__ import annotations

from papers import bahdanau2015
from papers import phrase_based
from papers.corpora import LANGUAGES
from papers.page import Page, over_seeds
from papers.resampling import Counts, Difference, counts_of
from rnnsearch_tf.files.reading import read_all

SIZES = 5_000, 20_000, 80_000, 160_000
"""Training pairs; each text is a sample of its own."""

SYSTEMS = "rnnsearch", "rnnencdec"
MODELS = tuple(f"tatoeba-{system}-{size}" for size in SIZES for system in SYSTEMS)
ALL, KNOWN = "all", "no_unk"
"""The two groups of test sentences, as in Table 1: all, and those without unknown words, where the
networks may not write UNK.
"""


def page(work, models) -> Page:
    """BLEU of the three systems by the number of training pairs."""
    counts = {
        (system, size): _counts(work, system, size)
        for system in (*SYSTEMS, phrase_based.NAME)
        for size in SIZES
    }
    shown = {ALL: "all", KNOWN: "without UNK"}
    sentences = {ALL: "all sentences", KNOWN: "sentences without UNK"}
    rows = []
    curves = {}
    for system in (*SYSTEMS, phrase_based.NAME):
        for group in (ALL, KNOWN):
            scores = [
                [float(each[group].bleu()[0]) for each in counts[system, size]] for size in SIZES
            ]
            rows.append(
                {"system": bahdanau2015.plain(system), "sentences": shown[group]}
                | {f"{size:,} pairs": over_seeds(found) for size, found in zip(SIZES, scores)}
            )
            curves.setdefault(f"training pairs; {sentences[group]}", {})[system] = SIZES, scores
    text = [
        "Sentences of Tatoeba, about six words long; lower-cased Moses tokens, the 10,000 most"
        " frequent words of each side. Sampled training texts; development and test text are the"
        f" same for all. BLEU of tokens, beam {bahdanau2015.BEAM}. Sentences without UNK: "
        + ", ".join(f"{len(_known(work, size)):,} ({size:,} pairs)" for size in SIZES)
        + ".",
        "The networks train for a number of updates that grows with the text, though more slowly:"
        f" {_passes(work)} passes over it. They keep the weights with the best BLEU of the"
        " development text.",
        phrase_based.WEAKER_OF_ONE_TEXT,
    ]
    for better, worse in (("rnnsearch", phrase_based.NAME), ("rnnsearch", "rnnencdec")):
        for group in (ALL, KNOWN):
            differences = ", ".join(
                f"{_difference(counts[better, size], counts[worse, size], group).shown()}"
                f" ({size:,})"
                for size in SIZES
            )
            text.append(
                f"{bahdanau2015.plain(better)} − {bahdanau2015.plain(worse)}, {sentences[group]}:"
                f" {differences}; with the 95 % confidence interval over a"
                " resampled test text (*)."
            )
    figure = bahdanau2015.curves_figure(curves)
    for axes in figure.axes:
        axes.set_xscale("log")
        axes.set_xticks(SIZES, [f"{size:,}" for size in SIZES])
        axes.minorticks_off()
    return Page(
        "Bahdanau et al. 2015, Table 1 by the size of the training text",
        rows,
        text=text,
        pictures={"curves": figure},
    )


def _passes(work) -> str:
    """The number of completed passes of RNNsearch over each text."""
    names = (f"tatoeba-{SYSTEMS[0]}-{size}" for size in SIZES)
    return ", ".join(str(work.trained(name, work.seeds[0])["epoch"]) for name in names)


def _counts(work, system, size) -> list:
    """[{ALL, KNOWN: Counts} of each seed] of a system's translations."""
    if system == phrase_based.NAME:
        found = [dict.fromkeys((ALL, KNOWN), _phrase_based(work, size)["counts"])]
    else:
        name = f"tatoeba-{system}-{size}"
        found = [_translations(work, name, seed)["counts"] for seed in work.seeds_of(name)]
    known = _known(work, size)
    return [{ALL: Counts(each[ALL]), KNOWN: Counts(each[KNOWN]).only(known)} for each in found]


def _known(work, size) -> list:
    """Positions of the test sentences without unknown words; the networks' words are the same."""
    return _translations(work, f"tatoeba-{SYSTEMS[0]}-{size}", work.seeds[0])["known"]


def _difference(better, worse, group) -> Difference:
    """Of the BLEU of two systems; a system with one model is compared with each of the other's."""
    worse = worse * (len(better) // len(worse))
    pairs = [(one[group], other[group]) for one, other in zip(better, worse, strict=True)]
    return Difference.of(
        [float(one.bleu()[0] - other.bleu()[0]) for one, other in pairs],
        lambda weights: [one.bleu(weights) - other.bleu(weights) for one, other in pairs],
        range(len(pairs[0][0])),
    )


def _test_text(work, size) -> tuple:
    """(sources, references)."""
    folder = work.texts.tatoeba(size)
    return tuple(read_all(folder / f"test.{language}") for language in LANGUAGES)


def _translations(work, name, seed) -> dict:
    """{"tokens", "counts": {ALL, KNOWN: see resampling.counts_of}, "known": positions of the
    sentences without unknown words} of the translated test text.
    """

    def translate():
        from rnnsearch_tf.evaluation.words import tokenized, unknown_words

        sources, references = _test_text(work, int(name.rpartition("-")[2]))
        translator = work.translator(name, seed)
        side = translator.target_text
        tokens = tokenized(side, references)
        texts = {
            group: [
                " ".join(each.tokens)
                for each in translator.translate(
                    sources, beam_size=bahdanau2015.BEAM, allow_unknown=group == ALL
                )
            ]
            for group in (ALL, KNOWN)
        }
        unknown = unknown_words(translator.source_text, side, sources, references)
        return {
            "tokens": texts,
            "counts": {
                group: counts_of(found, tokens, side.config.lowercase)
                for group, found in texts.items()
            },
            "known": [number for number, count in enumerate(unknown) if not count],
        }

    return work.output(f"scaling-{name}-{seed}", translate)


def _phrase_based(work, size) -> dict:
    """{"tokens", "counts": see resampling.counts_of} of the phrase-based system."""

    def translate():
        texts = work.texts.tatoeba(size)
        return phrase_based.translated_test_text(
            work.folder / f"phrase-based-tatoeba-{size}",
            lambda part: tuple(read_all(texts / f"{part}.{language}") for language in LANGUAGES),
        )

    return work.output(f"scaling-{phrase_based.NAME}-{size}", translate)
