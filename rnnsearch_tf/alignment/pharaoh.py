"""Links as Pharaoh writes them; needs no NumPy, which no command loads for its help."""

from __future__ import annotations

from collections.abc import Iterable

from rnnsearch_tf.alignment import Link


def as_pharaoh(links: Iterable[Link]) -> str:
    """Links as a Pharaoh line ``0-0 1-2``."""
    return " ".join(f"{source}-{target}" for source, target in links)
