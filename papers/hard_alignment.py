"""Bahdanau, Cho, Bengio 2015, §5.2.1: soft alignment against hard alignment, in the search.

A hard alignment takes one annotation for each target word. Energies are linear in v_a, so with v_a
multiplied by a large number the softmax gives the annotation of the highest energy the weight 1.
"""

from __future__ import annotations

from papers import bahdanau2015
from papers.page import Page, over_seeds
from papers.resampling import Counts, counts_of

HARD = 1e4
"""Factor of v_a. A second energy that is lower by 0.002 then has a weight of 2e-9."""


def page(work, models) -> Page:
    """BLEU of RNNsearch with both alignments."""
    [name] = models
    measured = {"soft": measured_soft(work, name), "hard": measured_hard(work, name)}
    rows = [
        {"alignment": kind, "BLEU": over_seeds([float(each.bleu()[0]) for each in found])}
        for kind, found in measured.items()
    ]
    text = [
        f"{bahdanau2015.plain(name)} on {work.texts.test_name}, beam {bahdanau2015.BEAM}, BLEU of"
        " tokens. Hard: each target word takes the annotation with the highest weight alone. The"
        " models were trained with soft alignment, so this says what their search loses without"
        " it, not what a model trained with hard alignment could do. The paper argues for soft"
        " alignment with an example, *the man → l'homme*, and has no number.",
    ]
    return Page("Bahdanau et al. 2015, §5.2.1: soft and hard alignment", rows, text=text)


def measured_soft(work, name) -> list:
    """[Counts of each seed] of the translations with unknown words allowed."""
    return [
        Counts(bahdanau2015.translations(work, name, seed)["counts"])
        for seed in work.seeds_of(name)
    ]


def measured_hard(work, name) -> list:
    """[Counts of each seed] with hard alignment."""
    return [Counts(_translations(work, name, seed)["counts"]) for seed in work.seeds_of(name)]


def _translations(work, name, seed):
    """{"tokens", "counts"} of the test text, translated with hard alignment."""

    def translate():
        from rnnsearch_tf.evaluation.words import tokenized

        sources, references = bahdanau2015.test_text(work)
        translator = work.translator(name, seed)
        energies = translator.model.decoder.alignment_model.v_a
        trained = energies.numpy()
        energies.assign(trained * HARD)
        try:
            found = translator.translate(sources, beam_size=bahdanau2015.BEAM)
        finally:
            energies.assign(trained)
        texts = [" ".join(each.tokens) for each in found]
        side = translator.target_text
        references = tokenized(side, references)
        return {
            "tokens": texts,
            "counts": counts_of(texts, references, side.config.lowercase),
        }

    return work.output(f"hard-alignment-{name}-{seed}", translate)
