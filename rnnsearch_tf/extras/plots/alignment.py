"""Pictures of alignments, as Figure 3 of the paper shows them."""

from __future__ import annotations

import io
import logging

import numpy as np

from rnnsearch_tf.config import SPECIAL_TOKENS
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.runtime.optional import require
from rnnsearch_tf.text.characters import WORD_START

log = logging.getLogger("rnnsearch_tf")


def alignment_figure(alignment, source_tokens, target_tokens):
    """A heatmap of one sentence pair's alignment (Figure 3).

    Source words run along the top, target words down the left side; a pixel is
    the weight α_ij, in grayscale: 0 black, 1 white.

    Args:
        alignment: float [I, J], rows sum to 1.
        source_tokens: list[str] of length J.
        target_tokens: list[str] of length I.

    Returns:
        matplotlib Figure, made without a display; a notebook shows it as a picture.

    Raises:
        UserError: matplotlib is missing, or the sizes do not fit.
    """
    require("pictures", "matplotlib")
    # no pyplot: it would keep every figure and look for a display
    from matplotlib.figure import (
        Figure,
    )

    height = len(target_tokens)
    width = len(source_tokens)
    if np.shape(alignment) != (height, width):
        raise UserError(
            f"expected an alignment of {height} target by {width} source tokens, got"
            f" {np.shape(alignment)}"
        )
    # inches: a cell of the matrix, the words beside it
    cell = 0.32
    room = 1.6
    figure = Figure(figsize=(width * cell + room, height * cell + room), layout="constrained")
    axes = figure.add_subplot()
    axes.imshow(alignment, cmap="gray", vmin=0.0, vmax=1.0, interpolation="nearest", aspect="equal")
    axes.xaxis.tick_top()
    fonts = _fonts("".join([*source_tokens, *target_tokens]))
    axes.set_xticks(range(width), labels(source_tokens), rotation=90, fontfamily=fonts)
    axes.set_yticks(range(height), labels(target_tokens), fontfamily=fonts)
    axes.tick_params(length=0)
    # what Jupyter asks for; it knows by itself only the figures of pyplot
    figure._repr_png_ = lambda: png(figure)
    return figure


def png(figure) -> bytes:
    """A matplotlib Figure as the content of a PNG file, 120 dots an inch."""
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=120)
    return content.getvalue()


def labels(tokens) -> list:
    """What stands beside the matrix: words as they are, and of subword pieces those that go on a
    word after a dot.

    Example:
        >>> labels(["▁Two", "▁brown", "▁dog", "s", "."])
        ['Two', 'brown', 'dog', '·s', '·.']
    """
    if any(token.startswith(WORD_START) for token in tokens):
        whole = lambda token: token.startswith(WORD_START) or token in SPECIAL_TOKENS  # noqa: E731
        tokens = [
            token.removeprefix(WORD_START) if whole(token) else f"·{token}" for token in tokens
        ]
    # matplotlib reads a pair of dollar signs as a formula
    return [token.replace("$", r"\$") for token in tokens]


def vectors_figure(points, texts):
    """Labelled points: every point a dot, and beside it its label where no label before it is in
    the way.

    Args:
        points: float [N, 2].
        texts: list[str] of length N, those first that matter most. Characters that matplotlib's
            font lacks are drawn with fonts of the system.

    Returns:
        matplotlib Figure, 10 by 10 inches.

    Raises:
        UserError: matplotlib is missing.
    """
    require("pictures", "matplotlib")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 10), layout="constrained")
    axes = figure.add_subplot()
    axes.scatter(*zip(*points), s=6, color="0.6", linewidths=0)
    axes.set(xticks=[], yticks=[])
    figure.draw_without_rendering()  # so that places in the picture are known
    fonts = _fonts("".join(texts))
    taken = []
    for point, text in zip(points, labels(texts)):
        label = axes.annotate(
            _shortened(text),
            point,
            (2, 2),
            textcoords="offset points",
            fontsize=8,
            fontfamily=fonts,
        )
        box = label.get_window_extent()
        if any(box.overlaps(other) for other in taken):
            label.remove()
        else:
            taken.append(box)
    figure._repr_png_ = lambda: png(figure)
    return figure


def _shortened(text, most=40):
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _fonts(text) -> list:
    """Names of fonts that have the characters of a text, matplotlib's own first; characters that no
    font has become boxes, with a warning.
    """
    from matplotlib import font_manager, ft2font

    names = ["DejaVu Sans"]
    missing = {ord(character) for character in text if not character.isspace()}
    # whose signs are all boxes
    installed = [
        font for font in font_manager.fontManager.ttflist if not font.name.startswith("Last Resort")
    ]
    own = [font for font in installed if font.name in names]
    for font in [*own, *installed]:
        if not missing:
            break
        found = missing & ft2font.FT2Font(font.fname).get_charmap().keys()
        missing -= found
        if found and font.name not in names:
            names.append(font.name)
    if missing:
        log.warning(
            "warning: no font here has %s; install one that has, such as Noto's",
            "".join(map(chr, sorted(missing)[:20])),
        )
    return names
