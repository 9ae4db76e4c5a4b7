"""The items: name, description, required models, and the function that makes the page."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from papers import alignment
from papers import bahdanau2015
from papers import cho2014
from papers import cho2014_figures
from papers import cho2014_training
from papers import documents
from papers import hard_alignment
from papers import index
from papers import luong2015
from papers import monotone
from papers import rare_words
from papers import recipe
from papers import scaling
from papers import sutskever2014
from papers import sutskever2014_figures
from papers.recipes import GUIDED

BAHDANAU = "rnnencdec-30", "rnnsearch-30", "rnnencdec-50", "rnnsearch-50"
TRAINED_LONGER = "rnnsearch-50-longer"
AUTHORS = tuple(
    f"{name}{ending}"
    for text in ("phrasebook", "captions")
    for name in (f"{text}-rnnsearch", f"{text}-rnnencdec")
    for ending in ("-authors", "")
)
SUTSKEVER = "lstm-forward", "lstm-reversed"
DEPTH = "lstm-1-layer", "lstm-reversed", "lstm-3-layers"
CHO = "phrase-scorer", "cslm"
CLAIMED = (
    *(
        f"bahdanau2015-{item}"
        for item in ("table1", "figure2", "figure2-documents", "monotone", "alignment")
    ),
    *(f"sutskever2014-{item}" for item in ("table1", "table2", "depth", "figure2")),
    *(f"cho2014-{item}" for item in ("table1", "figure5")),
)
"""The items whose measurements the claims use."""


@dataclasses.dataclass(frozen=True)
class Item:
    """A table or figure of a paper; ``make`` makes its Page from a Workspace and the models.

    Attributes:
        phrase_based: needs these phrase-based systems: n for that of every n-th caption.
        aligners: needs the extra smt: its word aligners, or a phrase-based system of its own.
        beside_phrase_based: has a row for the phrase-based system if its packages are installed.
        one_seed: shows only the models of the first seed.
        made_of: items whose measurements it shows instead of its own; they are made before it.
    """

    shows: str
    models: tuple
    make: Callable
    phrase_based: tuple = ()
    aligners: bool = False
    beside_phrase_based: bool = False
    one_seed: bool = False
    made_of: tuple = ()


ITEMS = {
    "bahdanau2015-table1": Item(
        "BLEU of RNNencdec and RNNsearch, trained on up to 30 and 50 words",
        (*BAHDANAU, TRAINED_LONGER),
        bahdanau2015.table_1,
        beside_phrase_based=True,
    ),
    "bahdanau2015-scaling": Item(
        "BLEU of RNNencdec, RNNsearch and the phrase-based system by the size of the training text",
        scaling.MODELS,
        scaling.page,
        aligners=True,
    ),
    "bahdanau2015-table2": Item(
        "their updates, epochs, hours, negative log-likelihoods",
        (*BAHDANAU, TRAINED_LONGER),
        bahdanau2015.table_2,
    ),
    "bahdanau2015-figure2": Item(
        "their BLEU by the length of the source sentence", BAHDANAU, bahdanau2015.figure_2
    ),
    "bahdanau2015-figure3": Item(
        "alignment matrices of RNNsearch-50",
        ("rnnsearch-50",),
        bahdanau2015.figure_3,
        one_seed=True,
    ),
    "bahdanau2015-table3": Item(
        "long sentences, translated by both",
        ("rnnencdec-50", "rnnsearch-50"),
        bahdanau2015.table_3,
        one_seed=True,
    ),
    "bahdanau2015-monotone": Item(
        "how far attention moves from word to word; its most frequent steps back",
        ("rnnsearch-50",),
        monotone.page,
    ),
    "bahdanau2015-figure2-documents": Item(
        "BLEU by length on real paragraphs of 20 to 200 words",
        documents.MODELS,
        documents.figure,
    ),
    "bahdanau2015-alignment": Item(
        "soft and hard alignment in the search",
        ("rnnsearch-50",),
        hard_alignment.page,
    ),
    "bahdanau2015-recipe": Item(
        "the authors' own training recipe at small sizes, beside ours",
        AUTHORS,
        recipe.page,
        one_seed=True,
    ),
    "sutskever2014-table1": Item(
        "a deep LSTM with the source in order and reversed: perplexity, beams, ensembles",
        SUTSKEVER,
        sutskever2014.table_1,
    ),
    "sutskever2014-depth": Item(
        "perplexity and BLEU of LSTMs of one, two and three layers",
        DEPTH,
        sutskever2014.depth,
        one_seed=True,
    ),
    "sutskever2014-table3": Item(
        "long sentences, translated by the LSTM",
        ("lstm-reversed",),
        sutskever2014.table_3,
        one_seed=True,
    ),
    "sutskever2014-figure2": Item(
        "sentence states of the LSTM by word order and voice",
        ("lstm-reversed",),
        sutskever2014_figures.figure_2,
    ),
    "sutskever2014-figure3": Item(
        "BLEU of LSTMs by length and by word frequency, compared with RNNsearch",
        ("lstm-forward", "lstm-reversed", "rnnsearch-50"),
        sutskever2014_figures.figure_3,
    ),
    "sutskever2014-table2": Item(
        "n-best lists of a phrase-based system rescored by it",
        SUTSKEVER,
        sutskever2014.table_2,
        phrase_based=(1,),
    ),
    "cho2014-table1": Item(
        "the RNN Encoder–Decoder and a language model in a phrase-based system",
        CHO,
        cho2014.table_1,
        phrase_based=(1, 10),
    ),
    "cho2014-training": Item(
        "how long both networks trained; the language model's perplexity",
        CHO,
        cho2014_training.page,
        phrase_based=(1,),
    ),
    "cho2014-table2": Item(
        "the best translations of phrases by the table and by the model",
        CHO[:1],
        cho2014.table_2,
        phrase_based=(1,),
        one_seed=True,
    ),
    "cho2014-table3": Item(
        "samples of the model for phrases",
        CHO[:1],
        cho2014.table_3,
        phrase_based=(1,),
        one_seed=True,
    ),
    "cho2014-figure3": Item(
        "phrase pairs by the table's score and by the model's",
        CHO[:1],
        cho2014_figures.figure_3,
        phrase_based=(1,),
    ),
    "cho2014-figure4": Item(
        "the model's words in the plane",
        CHO[:1],
        cho2014_figures.figure_4,
        phrase_based=(1,),
        one_seed=True,
    ),
    "cho2014-figure5": Item(
        "long phrases in the plane; are phrases of similar meaning close?",
        CHO[:1],
        cho2014_figures.figure_5,
        phrase_based=(1,),
    ),
    "luong2015-attention": Item(
        "dot, general, concat, with and without input feeding: BLEU and alignment error rate",
        (
            "phrasebook-rnnsearch",
            *(
                f"phrasebook-{score}{ending}"
                for score in ("dot", "general", "concat")
                for ending in ("", "-feeding")
            ),
        ),
        luong2015.attention,
    ),
    "luong2015-scores": Item(
        "BLEU of dot, general and concat on Multi30k",
        luong2015.SCORES,
        luong2015.scores,
    ),
    "alignment-phrasebook": Item(
        "alignment error rate of six systems with attention, without and with guided alignment,"
        " and of word aligners",
        tuple(
            f"{name}{ending}"
            for name in GUIDED
            if name.startswith("phrasebook-")
            for ending in ("", "-guided")
        ),
        alignment.phrasebook,
        aligners=True,
        one_seed=True,
    ),
    "alignment-multi30k": Item(
        "agreement of attention with word aligners",
        ("rnnsearch-50", "rnnsearch-50-guided"),
        alignment.multi30k,
        aligners=True,
        one_seed=True,
    ),
    "rare-words": Item(
        "unknown words left, forbidden and replaced; guided alignment, subwords",
        ("rnnsearch-50", "rnnsearch-50-guided", "subwords-50"),
        rare_words.table,
        aligners=True,
        one_seed=True,
    ),
    "index": Item(
        "which of the papers' claims hold at this scale, and a list of the pages",
        (*BAHDANAU, TRAINED_LONGER, *SUTSKEVER, DEPTH[0], DEPTH[-1], *CHO, *documents.MODELS),
        index.page,
        made_of=CLAIMED,
    ),
}
