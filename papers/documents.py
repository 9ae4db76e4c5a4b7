"""Figure 2 of Bahdanau, Cho, Bengio 2015 on long text that was not joined: paragraphs of Python's
documentation, English–French.

RNNsearch and RNNencdec learn from paragraphs of up to 50 words, as in the paper, and translate
paragraphs of 20 to 200. So does a phrase-based system, whose BLEU shows how hard the paragraphs of
each length are.
"""

from __future__ import annotations

import pathlib
import random

import numpy as np

from papers import bahdanau2015
from papers import phrase_based
from papers.corpora import DOCUMENTS, LANGUAGES, SEED, read_corpus
from papers.page import Page, over_seeds
from papers.resampling import Counts, counts_of
from rnnsearch_tf.files.atomic import write_file
from rnnsearch_tf.files.reading import read_all

MODELS = "documents-rnnsearch", "documents-rnnencdec"

LONGEST = 50
"""Maximum number of words of a training pair."""

TESTED = 20, 200
"""Fewest and most words of a test paragraph."""

EDGES = 20, 35, 51, 70, 90, 120, 201
"""Limits of the groups of lengths, in words of the source."""

OF_EACH = 150
"""Paragraphs of a group that are longer than those of training, at most."""


def write_paragraphs(data, folder) -> None:
    """Write train, development and test, English and French.

    Training: the paragraphs of ``train`` with at most LONGEST words on either side. Test: the
    paragraphs of ``val`` within TESTED, and longer ones of ``train``, which are not trained on.
    Development: the shorter paragraphs of ``val``.

    Raises:
        UserError: a file of the corpus is missing.
    """
    parts = {part: list(zip(*read_corpus(data, DOCUMENTS, part))) for part in ("train", "val")}
    fewest, most = TESTED

    def words(pair):
        return len(pair[0].split())

    longer = [pair for pair in parts["train"] if max(len(s.split()) for s in pair) > LONGEST]
    left_out = set(longer)
    generator = random.Random(SEED)
    chosen = []
    for low, high in zip(EDGES, EDGES[1:]):
        group = [pair for pair in longer if low <= words(pair) < high and low > LONGEST]
        chosen += generator.sample(group, min(OF_EACH, len(group)))
    texts = {
        "train": [pair for pair in parts["train"] if pair not in left_out],
        "development": [pair for pair in parts["val"] if words(pair) < fewest],
        "test": [pair for pair in parts["val"] if fewest <= words(pair) <= most] + chosen,
    }
    for part, pairs in texts.items():
        for language, lines in zip(LANGUAGES, zip(*pairs)):
            text = "".join(f"{line}\n" for line in lines)
            write_file(pathlib.Path(folder) / f"{part}.{language}", text)


def figure(work, models) -> Page:
    """BLEU by the length of the paragraph."""
    rows = []
    curves = {}
    paragraphs = lengths(work)
    chosen = groups(paragraphs)
    names = [f"{low}–{high - 1}" for low, high in zip(EDGES, EDGES[1:])]
    middles = [float(np.mean(paragraphs[group])) for group in chosen]
    for name in models:
        counts = measured(work, name)
        values = [[float(each.only(group).bleu()[0]) for each in counts] for group in chosen]
        system = name.removeprefix("documents-")
        rows.append(
            {"model": bahdanau2015.plain(system)}
            | {"all": over_seeds([float(each.bleu()[0]) for each in counts])}
            | {each: over_seeds(value) for each, value in zip(names, values)}
        )
        curves[system] = middles, values
    for counts in measured_phrase_based(work):
        scores = [float(counts.only(group).bleu()[0]) for group in chosen]
        rows.append(
            {"model": phrase_based.NAME, "all": float(counts.bleu()[0])} | dict(zip(names, scores))
        )
        curves[phrase_based.NAME] = middles, scores
    sizes = ", ".join(f"{each} words {len(group)}" for each, group in zip(names, chosen))
    text = [
        f"Paragraphs of Python's documentation, BLEU of lower-cased tokens, beam"
        f" {bahdanau2015.BEAM}. Paragraphs of each length: {sizes}. Both networks learned from"
        f" paragraphs of up to {LONGEST} words, for twice as long as those of Figure 2. None of the"
        f" test paragraphs was trained on: those of up to {LONGEST} words are of val, the longer"
        " ones of val and, mostly, of train, from which they were left out. A point of the picture"
        " is at the mean length of its group.",
        "Real paragraphs are coherent, unlike joined captions, and their reStructuredText marks and"
        " names are copied rather than translated. As paragraphs of up to"
        f" {LONGEST} words are of another part of the corpus, a difference between them and the"
        " longer ones need not be one of length.",
    ]
    if phrase_based.NAME in curves:
        text.append(
            "The phrase-based system translates phrase by phrase, however long the paragraph is:"
            " where its BLEU falls with length, the longer paragraphs are harder."
            f" {phrase_based.WEAKER_OF_ONE_TEXT}"
        )
    else:
        text.append(phrase_based.MISSING)
    return Page(
        "Bahdanau et al. 2015, Figure 2 on paragraphs: BLEU by length",
        rows,
        text=text,
        pictures={"curves": bahdanau2015.curves_figure({"words of the paragraph": curves})},
    )


def measured(work, name) -> list:
    """[Counts of each seed] of a model's translations of the test paragraphs."""
    return [Counts(translations(work, name, seed)["counts"]) for seed in work.seeds_of(name)]


def measured_phrase_based(work) -> list:
    """[Counts of the phrase-based system's translations], [] if it is not measured and cannot be
    made here.
    """
    key = f"documents-{phrase_based.NAME}"
    if work.kept_output(key) is None and not work.can_have_phrase_based():
        return []

    def translate():
        return phrase_based.translated_test_text(
            work.folder / "phrase-based-documents",
            lambda part: tuple(
                read_all(work.texts.documents / f"{part}.{language}") for language in LANGUAGES
            ),
        )

    return [Counts(work.output(key, translate)["counts"])]


def lengths(work) -> np.ndarray:
    """Words of each test paragraph."""
    return np.array(translations(work, MODELS[0], work.seeds[0])["source_words"])


def groups(lengths) -> list:
    """[positions of the paragraphs of each length between two EDGES]."""
    return [
        np.flatnonzero((lengths >= low) & (lengths < high)) for low, high in zip(EDGES, EDGES[1:])
    ]


def translations(work, name, seed) -> dict:
    """{"tokens": separated by spaces, "source_words", "counts": see resampling.counts_of} of the
    translated paragraphs.
    """

    def translate():
        from rnnsearch_tf.evaluation.words import tokenized

        sources, references = (
            read_all(work.texts.documents / f"test.{language}") for language in LANGUAGES
        )
        translator = work.translator(name, seed)
        found = translator.translate(sources, beam_size=bahdanau2015.BEAM)
        texts = [" ".join(each.tokens) for each in found]
        side = translator.target_text
        return {
            "tokens": texts,
            "source_words": [len(source.split()) for source in sources],
            "counts": counts_of(texts, tokenized(side, references), side.config.lowercase),
        }

    return work.output(f"documents-{name}-{seed}", translate)
