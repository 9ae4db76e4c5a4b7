"""Word aligners of the statistical systems: fast_align, the hidden Markov model, IBM Model 4 (Thot,
package sil-thot).

    fast_align    Dyer, Chahuneau and Smith 2013: Model 2 with positions near the diagonal
    hmm           Vogel, Ney and Tillmann 1996: each word's position depends on the previous one
    ibm4          Brown et al. 1993: fertilities, and distortions relative to the previous words

Each aligner is trained in both directions on unaligned parallel text, and the two alignments are
symmetrized.
"""

from __future__ import annotations

import logging
import pathlib
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.alignment import Link
from rnnsearch_tf.alignment.symmetrization import grow_diag_final_and
from rnnsearch_tf.runtime.optional import THOT, require

log = logging.getLogger("rnnsearch_tf")

ALIGNERS = {"fast_align": "fast_align", "hmm": "HMM", "ibm4": "IBM Model 4"}
"""{name in Thot: display name}"""

Texts = tuple[Sequence[str], Sequence[str]]
"""(source sentences, target sentences) of equal length, tokens joined by spaces."""


def align(kind: str, train: Texts, texts: Texts) -> list[list[Link]]:
    """Train an aligner in both directions and align sentence pairs with it.

    Args:
        kind: one of ALIGNERS.
        train: the text to train on.
        texts: the text to align; may be the same text.

    Returns:
        The sorted links of each pair: grow-diag-final-and of both directions. Pairs with a side
        that is longer than Thot takes (200 tokens) have none; their number is logged.

    Raises:
        UserError: the packages are missing.
        UsageError: the aligner is unknown.

    Example:
        align("hmm", (["a house", "a door"], ["une maison", "une porte"]), (["a house"], ["une
        maison"]))
    """
    require("word aligners", *THOT)
    if kind not in ALIGNERS:
        raise UsageError(f"aligner: expected one of {', '.join(ALIGNERS)}, got {kind!r}")
    models = [_trained(kind, *train[::step]) for step in (1, -1)]
    _warn_of_long_pairs(models[0].thot_model.max_sentence_length, texts)
    forward, reverse = (_aligned(model, *texts[::step]) for model, step in zip(models, (1, -1)))
    return [
        sorted(grow_diag_final_and(links, {(j, i) for i, j in other}))
        for links, other in zip(forward, reverse)
    ]


def _trained(kind: str, sources: Sequence[str], targets: Sequence[str]) -> Any:
    """A Thot model of one direction. Thot trains on files, and loads the model from a file."""
    from machine.translation.thot import (
        ThotWordAlignmentModelTrainer,
        create_thot_word_alignment_model,
    )

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        files = []
        for name, lines in (("source", sources), ("target", targets)):
            files.append(folder / name)
            files[-1].write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        with ThotWordAlignmentModelTrainer(kind, tuple(files), folder / "model") as trainer:
            trainer.train()
            trainer.save()
        return create_thot_word_alignment_model(kind, folder / "model")


def _aligned(model: Any, sources: Sequence[str], targets: Sequence[str]) -> Iterator[set[Link]]:
    """The links of each pair by a Thot model of one direction."""
    for source, target in zip(sources, targets):
        matrix = model.align(source.split(), target.split())
        yield {(pair.source_index, pair.target_index) for pair in matrix.to_aligned_word_pairs()}


def _warn_of_long_pairs(limit: int, texts: Texts) -> None:
    long = sum(max(len(side.split()) for side in pair) > limit for pair in zip(*texts))
    if long:
        log.warning(
            "warning: pairs with a side of more than %s tokens have no links, as Thot aligns none:"
            " %s; split them to align them",
            limit,
            f"{long:,}",
        )
