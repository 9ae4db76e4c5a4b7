"""Word aligners of the statistical systems: fast_align, the hidden Markov model, IBM Model 4 (Thot,
package sil-thot).

    fast_align    Dyer, Chahuneau and Smith 2013: Model 2 with positions near the diagonal
    hmm           Vogel, Ney and Tillmann 1996: each word's position depends on the one before
    ibm4          Brown et al. 1993: fertilities, and distortions relative to the words before

Each is learned in both directions from the text itself, which need not be aligned, and both
alignments are made one.
"""

from __future__ import annotations

import pathlib
import tempfile

from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.alignment.symmetrization import grow_diag_final_and
from rnnsearch_tf.runtime.optional import THOT, require

ALIGNERS = {"fast_align": "fast_align", "hmm": "HMM", "ibm4": "IBM Model 4"}
"""{what Thot calls it: its name}"""


def align(kind: str, train: tuple, texts: tuple) -> list:
    """The links of sentence pairs, by an aligner of both directions learned from sentence pairs.

    Args:
        kind: one of ALIGNERS.
        train: (sources, targets) that it is learned from: list[str] of tokens joined by spaces
            each, of equal length.
        texts: (sources, targets) that it aligns, the same or other text.

    Returns:
        list of sorted lists of (source position, target position): grow-diag-final-and of both
        directions.

    Raises:
        UserError: the packages are missing.
        UsageError: there is no such aligner.

    Example:
        align("hmm", (["a house", "a door"], ["une maison", "une porte"]), (["a house"], ["une
        maison"]))
    """
    require("word aligners", *THOT)
    if kind not in ALIGNERS:
        raise UsageError(f"aligner: expected one of {', '.join(ALIGNERS)}, got {kind!r}")
    forward, reverse = (_aligned(_learned(kind, *train[::way]), *texts[::way]) for way in (1, -1))
    return [
        sorted(grow_diag_final_and(links, {(j, i) for i, j in other}))
        for links, other in zip(forward, reverse)
    ]


def _learned(kind, sources, targets):
    """Thot's model of one direction. It is learned from files, and read from its own."""
    from machine.translation.thot import (
        ThotWordAlignmentModelTrainer,
        create_thot_word_alignment_model,
    )

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        files = []
        for name, lines in (("source", sources), ("target", targets)):
            files.append(folder / name)
            files[-1].write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        with ThotWordAlignmentModelTrainer(kind, tuple(files), folder / "model") as trainer:
            trainer.train()
            trainer.save()
        return create_thot_word_alignment_model(kind, folder / "model")


def _aligned(model, sources, targets):
    """A set of (source, target) positions of each pair, where Thot's model of one direction sees
    links.
    """
    for source, target in zip(sources, targets):
        matrix = model.align(source.split(), target.split())
        yield {(pair.source_index, pair.target_index) for pair in matrix.to_aligned_word_pairs()}
