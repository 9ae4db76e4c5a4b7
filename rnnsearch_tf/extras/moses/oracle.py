"""The best that choosing from an n-best list could give."""

from __future__ import annotations

import sacrebleu

from rnnsearch_tf.errors import UserError


def choose(lists, references, tokenize="13a", lowercase=False):
    """The first hypothesis of every sentence, and the one nearest its reference.

    Nearest is the highest sentence BLEU (smoothed, by sacreBLEU); of equals, the first. Corpus BLEU
    of the choice is the usual estimate of the oracle (Sutskever et al. 2014, Table 2), a little
    below the highest that any choice could reach.

    Args:
        lists: iterable of list[Entry], as `read_nbest` gives them.
        references: list[str], one a sentence.
        tokenize, lowercase: as for `bleu`.

    Returns:
        (firsts, chosen): list[str] each; an empty text where a sentence has no list.

    Raises:
        UserError: there is no reference.
    """
    if not references:
        raise UserError("expected reference translations, got none")
    metric = sacrebleu.BLEU(
        tokenize=tokenize, lowercase=lowercase, effective_order=True, force=True
    )
    firsts = [""] * len(references)
    chosen = [""] * len(references)
    for entries in lists:
        place = entries[0].sentence
        texts = list(dict.fromkeys(entry.text for entry in entries))
        firsts[place] = texts[0]
        chosen[place] = max(
            texts, key=lambda text: metric.sentence_score(text, [references[place]]).score
        )
    return firsts, chosen
