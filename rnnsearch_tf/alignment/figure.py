"""Plots of alignments (Bahdanau et al. 2015, Figure 3)."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rnnsearch_tf.config import SPECIAL_TOKENS
from rnnsearch_tf.runtime.optional import require
from rnnsearch_tf.text.characters import WORD_START

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONGEST_SIDE = 40
"""Longest side of an alignment, in inches: drawing a picture takes about 1 GB of memory at most.
Cells and labels are smaller above 125 tokens.
"""


def alignment_figure(
    alignment: np.ndarray, source_tokens: Sequence[str], target_tokens: Sequence[str]
) -> Figure:
    """Draw the alignment of a sentence pair as a heatmap (Figure 3).

    Source words are at the top, target words on the left; a cell is the weight α_ij in grayscale,
    from 0 (black) to 1 (white).

    Args:
        alignment: float [I, J], rows sum to 1.
        source_tokens: J tokens.
        target_tokens: I tokens.

    Returns:
        a Figure, which needs no display; a notebook shows it as a picture.

    Raises:
        UserError: matplotlib is missing.
    """
    height = len(target_tokens)
    width = len(source_tokens)
    require("pictures", "matplotlib")
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    # in inches
    cell = min(0.32, LONGEST_SIDE / max(width, height, 1))
    margin = 1.6
    size = width * cell + margin, height * cell + margin
    figure = Figure(figsize=size, layout="constrained")
    # Jupyter shows only figures of pyplot by itself, which would keep every one in memory
    setattr(figure, "_repr_png_", lambda: png(figure))
    axes = figure.add_subplot()
    axes.imshow(alignment, cmap="gray", vmin=0.0, vmax=1.0, interpolation="nearest", aspect="equal")
    axes.xaxis.tick_top()
    axes.set_xticks(range(width), labels(source_tokens), rotation=90)
    axes.set_yticks(range(height), labels(target_tokens))
    axes.tick_params(length=0, labelsize=min(rcParams["font.size"], 60 * cell))
    return figure


def png(figure: Figure) -> bytes:
    """A Figure as the content of a PNG file, with 120 dots an inch."""
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=120)
    return content.getvalue()


def labels(tokens: Sequence[str]) -> list[str]:
    """Labels of the tokens of a sentence: subwords inside a word begin with a dot.

    Example:
        >>> labels(["▁Two", "▁brown", "▁dog", "s", "."])
        ['Two', 'brown', 'dog', '·s', '·.']
    """
    if any(token.startswith(WORD_START) for token in tokens):
        tokens = [
            token.removeprefix(WORD_START)
            if token.startswith(WORD_START) or token in SPECIAL_TOKENS
            else f"·{token}"
            for token in tokens
        ]
    # matplotlib would read a pair of dollar signs as a formula
    return [token.replace("$", r"\$") for token in tokens]
