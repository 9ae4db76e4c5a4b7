"""The scales at which the papers are reproduced: their items, models and texts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from papers.corpora import JoinedTexts
from papers.europarl import EUROPARL_RECIPES, NOTE, EuroparlTexts
from papers.items import ITEMS, TRAINED_LONGER
from papers.recipes import PAPER_RECIPES, RECIPES
from papers.wmt14 import Wmt14Texts


@dataclasses.dataclass(frozen=True)
class Scale:
    """One scale.

    Attributes:
        items: {name: Item}.
        recipes: {name of a model: Recipe}.
        texts: JoinedTexts, EuroparlTexts or Wmt14Texts; called with the folder of the experiment
            and that of the corpora.
        cores: the machine that the minutes of the recipes refer to.
        settings: command-line arguments that select it, without ``--set``.
        phrase_based: whether it has a phrase-based system, see phrase_based.py.
        notes: paragraphs for the end of every page.
    """

    items: dict
    recipes: dict
    texts: Callable
    cores: str
    settings: tuple = ()
    phrase_based: bool = False
    notes: tuple = ()


PAPER_ITEMS = {name: item for name, item in ITEMS.items() if set(item.models) <= set(PAPER_RECIPES)}
"""Those of Bahdanau et al. 2015."""

EUROPARL_ITEMS = {
    name: dataclasses.replace(
        item, models=tuple(model for model in item.models if model != TRAINED_LONGER)
    )
    for name, item in PAPER_ITEMS.items()
}

SCALES = {
    "small": Scale(ITEMS, RECIPES, JoinedTexts, "one core", phrase_based=True),
    "europarl": Scale(
        EUROPARL_ITEMS,
        EUROPARL_RECIPES,
        EuroparlTexts,
        "two cores",
        ("--scale europarl",),
        notes=(NOTE,),
    ),
    "paper": Scale(
        PAPER_ITEMS,
        PAPER_RECIPES,
        Wmt14Texts,
        "two cores",
        ("--scale paper",),
    ),
}
