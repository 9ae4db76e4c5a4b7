"""Whether sil-machine and sil-thot are installed, the packages of the phrase-based system and the word aligners."""

import importlib.util

from rnnsearch_tf.errors import UserError


def has_thot() -> bool:
    """Whether they are."""
    return all(importlib.util.find_spec(name) for name in ("machine", "thot"))


def require_thot() -> None:
    """Raise UserError where they are not, before work is done in vain."""
    if not has_thot():
        raise UserError(
            'a phrase-based system, or word aligners: expected the packages sil-machine and sil-thot, got none; pip install "rnnsearch-tf[smt]"'
        )
