"""Packages that only an extra brings, such as ``pip install "rnnsearch-tf[plots]"``."""

import importlib.util

from rnnsearch_tf.errors import UserError

PACKAGES = {
    "matplotlib": ("matplotlib", "plots"),
    "sklearn": ("scikit-learn", "plots"),
    "sacremoses": ("sacremoses", "moses"),
    "machine": ("sil-machine", "smt"),
    "thot": ("sil-thot", "smt"),
}
"""{module: (its package, the extra)}"""

THOT = "machine", "thot"
"""The modules of the phrase-based system and of the word aligners."""


def has(*modules) -> bool:
    """Whether these modules can be imported."""
    return all(importlib.util.find_spec(module) for module in modules)


def require(what: str, *modules) -> None:
    """Raise UserError for a missing package now, before work is done in vain.

    Args:
        what: what needs it.
        modules: keys of PACKAGES.
    """
    for module in modules:
        if not has(module):
            package, extra = PACKAGES[module]
            raise UserError(
                f"{what}: expected the package {package}, found none; pip install"
                f' "rnnsearch-tf[{extra}]"'
            )
