"""What can be reproduced: the item's name, what it shows, the models it needs, the function that makes its page."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from rnnsearch_tf.reproduce import alignment, bahdanau2015, luong2015, rare_words, sutskever2014
from rnnsearch_tf.reproduce.claims import claims
from rnnsearch_tf.reproduce.recipes import GUIDED

BAHDANAU = "rnnencdec-30", "rnnsearch-30", "rnnencdec-50", "rnnsearch-50"
SUTSKEVER = "lstm-forward", "lstm-reversed", "lstm-reversed-2", "lstm-reversed-3"


@dataclasses.dataclass(frozen=True)
class Item:
    """A table or figure of a paper; ``make`` makes its Page from a Workspace and the models.

    Attributes:
        aligners: it needs the word aligners of the extra smt.
    """

    shows: str
    models: tuple
    make: Callable
    aligners: bool = False


ITEMS = {
    "bahdanau2015-table1": Item("BLEU of RNNencdec and RNNsearch, trained on up to 30 and 50 words", BAHDANAU, bahdanau2015.table_1),
    "bahdanau2015-table2": Item("their updates, epochs, hours, negative log-likelihoods", BAHDANAU, bahdanau2015.table_2),
    "bahdanau2015-figure2": Item("their BLEU by the length of the source sentence", BAHDANAU, bahdanau2015.figure_2),
    "bahdanau2015-figure3": Item("alignment matrices of RNNsearch-50", ("rnnsearch-50",), bahdanau2015.figure_3),
    "bahdanau2015-table3": Item("long sentences, translated by both", ("rnnencdec-50", "rnnsearch-50"), bahdanau2015.table_3),
    "sutskever2014-table1": Item("a deep LSTM with the source as it is and reversed, beams, an ensemble", SUTSKEVER, sutskever2014.table_1),
    "luong2015-attention": Item(
        "dot, general, concat, with and without input feeding: BLEU and alignment error rate",
        ("phrasebook-rnnsearch", *(f"phrasebook-{score}{ending}" for score in ("dot", "general", "concat") for ending in ("", "-feeding"))),
        luong2015.attention,
    ),
    "alignment-phrasebook": Item(
        "alignment error rate of every attention, without and with guided alignment, and of word aligners",
        tuple(f"{name}{ending}" for name in GUIDED if name.startswith("phrasebook-") for ending in ("", "-guided")),
        alignment.phrasebook, aligners=True,
    ),
    "alignment-multi30k": Item(
        "agreement of attention with word aligners", ("rnnsearch-50", "rnnsearch-50-guided"), alignment.multi30k, aligners=True,
    ),
    "rare-words": Item(
        "unknown words left, forbidden and replaced; guided alignment, a shortlist, subwords",
        ("rnnsearch-50", "rnnsearch-50-guided", "subwords-50", "subwords-50-sampling"), rare_words.table, aligners=True,
    ),
    "claims": Item("which of the papers' claims hold at this scale", (*BAHDANAU, *SUTSKEVER), claims),
}  # fmt: skip
