"""The scales at which the papers are reproduced: what can be made, from which models and which
texts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from papers.corpora import JoinedTexts
from papers.items import ITEMS
from papers.recipes import PAPER_RECIPES, RECIPES
from papers.wmt14 import Wmt14Texts


@dataclasses.dataclass(frozen=True)
class Scale:
    """One of them.

    Attributes:
        items: {name: Item}.
        recipes: {name of a model: Recipe}.
        texts: called with the folder of the experiment and that of the corpora: JoinedTexts or
            Wmt14Texts.
        cores: the machine whose minutes the recipes tell.
        settings: the words of the command line that name it, beside its ``--set``.
        phrase_based: whether there is a phrase-based system beside the models, see phrase_based.py.
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
