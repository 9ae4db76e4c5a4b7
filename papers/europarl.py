"""The scale between: Europarl v7 and News Commentary v9, two of WMT'14's corpora, as they are.

::

    DATA/wmt14/training-parallel-europarl-v7.tgz, …-nc-v9.tgz    as for the paper's scale
    DATA/wmt14/newstest….en, .fr, newstest2012-2013.en.gz, .fr.gz    likewise
    DATA/wmt14/europarl-nc.en.gz, europarl-nc.fr.gz    training text: both corpora joined
    DIR/ids/up-to-30, up-to-50                         vocabularies and ids

The models are those of the paper's scale. The text has a fifth of its pairs, so they train for a
quarter of its updates.
"""

from __future__ import annotations

import dataclasses

from papers import wmt14
from papers.items import BAHDANAU
from papers.recipes import PAPER_RECIPES
from papers.wmt14 import Wmt14Texts


class EuroparlTexts(Wmt14Texts):
    """The texts of the models, and the steps that make them; arguments of Wmt14Texts."""

    joined = trained = "europarl-nc"

    @property
    def archives(self) -> list:
        """Europarl and the news commentary."""
        return wmt14.ARCHIVES[:2]

    @property
    def training_pairs(self) -> int:
        """All pairs of the archives."""
        return self.pairs

    def _selection(self) -> list:
        return []


SHARE = 4
"""A model has Table 2's updates divided by this. RNNsearch-50 then reads its sentences about three
times, where the paper's reads its own 2.2 times, and the four models train for a week of two cores.
"""

EVALUATIONS = 8
"""Evaluations of a training."""


def _shorter(recipe):
    """A recipe of the paper's scale for this one."""
    changes = dict(change.split("=") for change in recipe.changes)
    updates = int(changes.pop("training.maximum_updates")) // SHARE
    return dataclasses.replace(
        recipe,
        changes=(
            *(f"{name}={value}" for name, value in changes.items()),
            f"training.maximum_updates={updates}",
            f"training.evaluate_every={updates // EVALUATIONS}",
        ),
        corpus="europarl",
        minutes=round(recipe.minutes / SHARE),
    )


EUROPARL_RECIPES = {name: _shorter(PAPER_RECIPES[name]) for name in BAHDANAU}
"""RNNencdec and RNNsearch, up to 30 and 50 words; none that is trained longer."""

NOTE = (
    "Trained on Europarl v7 and News Commentary v9, 2.2 million pairs, for a quarter of the paper's"
    " updates. The paper has about 12 million pairs of news-like text: compare signs, not numbers."
)
