"""The scales at which the papers are reproduced: their items, models and texts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from papers.corpora import JoinedTexts
from papers.items import ITEMS
from papers.recipes import PAPER_RECIPES, RECIPES
from papers.wmt14 import Wmt14Texts


@dataclasses.dataclass(frozen=True)
class Scale:
    """One scale.

    Attributes:
        items: {name: Item}.
        recipes: {name of a model: Recipe}.
        texts: JoinedTexts or Wmt14Texts; called with the folder of the experiment and that of the
            corpora.
        cores: the machine that the minutes of the recipes refer to.
        settings: command-line arguments that select it, without ``--set``.
        phrase_based: whether it has a phrase-based system, see phrase_based.py.
    """

    items: dict
    recipes: dict
    texts: Callable
    cores: str
    settings: tuple = ()
    phrase_based: bool = False


SCALES = {
    "small": Scale(ITEMS, RECIPES, JoinedTexts, "one core", phrase_based=True),
    "paper": Scale(
        {name: item for name, item in ITEMS.items() if set(item.models) <= set(PAPER_RECIPES)},
        PAPER_RECIPES,
        Wmt14Texts,
        "two cores",
        ("--scale paper",),
    ),
}
