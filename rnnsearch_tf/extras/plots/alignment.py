"""Plots of alignments (Bahdanau et al. 2015, Figure 3) and of labelled points."""

from __future__ import annotations

import io
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rnnsearch_tf.config import SPECIAL_TOKENS
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.runtime.optional import require
from rnnsearch_tf.text.characters import WORD_START

if TYPE_CHECKING:
    from matplotlib.figure import Figure

log = logging.getLogger("rnnsearch_tf")

LONGEST_SIDE = 40
"""Longest side of an alignment, in inches: drawing a picture takes about 1 GB of memory at most.
Cells and labels are smaller above 125 tokens.
"""


def alignment_figure(
    alignment: np.ndarray, source_tokens: Sequence[str], target_tokens: Sequence[str]
) -> Figure:
    """Draw the alignment of a sentence pair as a heatmap (Figure 3).

    Source words are at the top, target words on the left; a cell is the weight α_ij in grayscale,
    from 0 (black) to 1 (white). Cells of long sentences are smaller (LONGEST_SIDE).

    Args:
        alignment: float [I, J], rows sum to 1.
        source_tokens: J tokens.
        target_tokens: I tokens.

    Returns:
        a Figure, which needs no display; a notebook shows it as a picture.

    Raises:
        UserError: matplotlib is missing, or the sizes do not fit.
    """
    height = len(target_tokens)
    width = len(source_tokens)
    if np.shape(alignment) != (height, width):
        raise UserError(
            f"expected an alignment of {height} target by {width} source tokens, got"
            f" {np.shape(alignment)}"
        )
    # in inches
    cell = min(0.32, LONGEST_SIDE / max(width, height, 1))
    margin = 1.6
    figure = _new_figure(width * cell + margin, height * cell + margin)
    from matplotlib import rcParams

    axes = figure.add_subplot()
    axes.imshow(alignment, cmap="gray", vmin=0.0, vmax=1.0, interpolation="nearest", aspect="equal")
    axes.xaxis.tick_top()
    fonts = _fonts("".join([*source_tokens, *target_tokens]))
    axes.set_xticks(range(width), labels(source_tokens), rotation=90, fontfamily=fonts)
    axes.set_yticks(range(height), labels(target_tokens), fontfamily=fonts)
    axes.tick_params(length=0, labelsize=min(rcParams["font.size"], 60 * cell))
    return figure


def _new_figure(width: float, height: float) -> Figure:
    """An empty figure that Jupyter shows, as it does by itself only for those of pyplot, which
    would keep every figure in memory and look for a display.

    The method is the one that IPython documents for any object; that it may belong to a single one
    is not. Tried with IPython 9.18.1, and tested by tests/house/test_library_internals.py.
    """
    require("pictures", "matplotlib")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    setattr(figure, "_repr_png_", lambda: png(figure))
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


def vectors_figure(points: np.ndarray, texts: Sequence[str]) -> Figure:
    """Draw labelled points; a label that has no place, right or left of its point, without leaving
    the frame or overlapping an earlier one is left out.

    Args:
        points: float [N, 2].
        texts: N labels, the most important first. Characters that are not in matplotlib's
            font are drawn with fonts of the system.

    Returns:
        a Figure of 10 by 10 inches.

    Raises:
        UserError: matplotlib is missing.
    """
    figure = _new_figure(10, 10)
    axes = figure.add_subplot()
    x, y = zip(*points)
    axes.scatter(x, y, s=6, color="0.6", linewidths=0)
    axes.set(xticks=[], yticks=[])
    figure.draw_without_rendering()  # computes positions
    fonts = _fonts("".join(texts))
    boxes: list[Any] = []  # of the labels so far
    frame = axes.get_window_extent()
    for point, text in zip(points, labels(texts)):
        for side, offset in (("left", 2), ("right", -2)):
            label = axes.annotate(
                _shortened(text),
                point,
                (offset, 2),
                textcoords="offset points",
                horizontalalignment=side,
                fontsize=8,
                fontfamily=fonts,
            )
            box = label.get_window_extent()
            if _contains(frame, box) and not any(box.overlaps(other) for other in boxes):
                boxes.append(box)
                break
            label.remove()
    return figure


def _contains(frame, box):
    return frame.x0 <= box.x0 and frame.y0 <= box.y0 and box.x1 <= frame.x1 and box.y1 <= frame.y1


def _shortened(text: str, most: int = 40) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _fonts(text: str) -> list[str]:
    """Names of fonts for the characters of a text, matplotlib's own first. Characters that no font
    has are drawn as boxes, with a warning.
    """
    from matplotlib import font_manager, ft2font

    names = ["DejaVu Sans"]
    missing = {ord(character) for character in text if not character.isspace()}
    # the characters of this one are all boxes
    installed = [
        font for font in font_manager.fontManager.ttflist if not font.name.startswith("Last Resort")
    ]
    default = [font for font in installed if font.name in names]
    for font in [*default, *installed]:
        if not missing:
            break
        try:
            found = missing & ft2font.FT2Font(font.fname).get_charmap().keys()
        except (OSError, RuntimeError):  # matplotlib's list is of an earlier day
            continue
        missing -= found
        if found and font.name not in names:
            names.append(font.name)
    if missing:
        log.warning(
            "warning: no installed font has %s; install one that does, such as Noto's",
            "".join(map(chr, sorted(missing)[:20])),
        )
    return names
