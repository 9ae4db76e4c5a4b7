"""Oracle scores: the best hypotheses of n-best lists."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import sacrebleu

from rnnsearch_tf.errors import UserError

if TYPE_CHECKING:
    from rnnsearch_tf.extras.moses.nbest import Entry

log = logging.getLogger("rnnsearch_tf")


def choose(
    lists: Iterable[list[Entry]],
    references: Sequence[str],
    tokenize: str = "13a",
    lowercase: bool = False,
) -> tuple[list[str], list[str]]:
    """Select the first hypothesis of every sentence, and the one closest to its reference.

    The closest one has the highest sentence BLEU (smoothed, by sacreBLEU); ties go to the first.
    The corpus BLEU of this choice is the usual estimate of the oracle (Sutskever et al. 2014,
    Table 2), slightly below the highest that any choice could reach.

    Args:
        lists: n-best lists, as from `read_nbest`.
        references: one for each sentence.
        tokenize, lowercase: as for `bleu`.

    Returns:
        (first hypotheses, closest hypotheses); an empty text for a sentence without a list, with a
        warning.

    Raises:
        UserError: there is no reference, or the last ones have no list.
    """
    if not references:
        raise UserError("expected reference translations, got none")
    metric = sacrebleu.BLEU(
        tokenize=tokenize, lowercase=lowercase, effective_order=True, force=True
    )
    firsts = [""] * len(references)
    chosen = [""] * len(references)
    place, found = -1, 0
    for found, entries in enumerate(lists, start=1):
        place = entries[0].sentence
        texts = list(dict.fromkeys(entry.text for entry in entries))
        firsts[place] = texts[0]
        chosen[place] = max(
            texts, key=lambda text: metric.sentence_score(text, [references[place]]).score
        )
    if place + 1 < len(references):
        raise UserError(
            f"expected as many references as the n-best list has sentences, {place + 1}, got"
            f" {len(references)}; name the reference of these sentences"
        )
    if found < len(references):
        log.warning(
            "warning: no hypotheses for %d of %d sentences, which count as empty translations",
            len(references) - found,
            len(references),
        )
    return firsts, chosen
