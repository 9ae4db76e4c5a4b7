"""Plots of many vectors: the plane and enlarged regions (Cho et al. 2014a, Figures 4 and 5)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rnnsearch_tf.extras.plots.alignment import vectors_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REGIONS = 3
MEMBERS = 30
"""Points of a region."""

COLOURS = "tab:red", "tab:blue", "tab:green"

Square = tuple[np.ndarray, float]
"""(centre float [2], half of the side)."""


def zoomed_figures(
    points: np.ndarray, texts: Sequence[str], squares: Sequence[Square]
) -> dict[str, Figure]:
    """Draw the whole plane with frames around some regions, and each region enlarged.

    Args:
        points: float [N, 2].
        texts: N labels, the most important first.
        squares: the result of :func:`regions`.

    Returns:
        {"whole", "region-1", …: Figure}. A region has the colour of its frame.
    """
    from matplotlib.patches import Rectangle

    points = np.asarray(points)
    figures = {"whole": vectors_figure(points, texts)}
    axes = figures["whole"].axes[0]
    for colour, (centre, half) in zip(itertools.cycle(COLOURS), squares):
        centre = np.asarray(centre)
        inside = np.flatnonzero(_distances(points, centre) <= half)
        axes.add_patch(
            Rectangle(
                tuple(centre - half), 2 * half, 2 * half, fill=False, edgecolor=colour, linewidth=2
            )
        )
        axes.scatter(points[inside, 0], points[inside, 1], s=6, color=colour, linewidths=0)
        figure = vectors_figure(points[inside], [texts[k] for k in inside.tolist()])
        figure.axes[0].collections[0].set(color=colour, sizes=[16])
        figure.axes[0].spines[:].set_color(colour)
        figures[f"region-{len(figures)}"] = figure
    return figures


def regions(
    points: np.ndarray, vectors: np.ndarray, number: int = REGIONS, members: int = MEMBERS
) -> list[Square]:
    """Find squares, each around a point, that do not overlap and whose vectors are most similar.

    The similarity of vectors is the mean cosine of all their pairs, after subtracting the mean of
    all vectors.

    Args:
        points: float [N, 2].
        vectors: float [N, size].
        number: number of squares; there are fewer if they would overlap.
        members: points in each square, its centre included; if there are fewer points, all.

    Returns:
        the squares, the most similar first.
    """
    points = np.asarray(points, np.float64)
    vectors = np.asarray(vectors, np.float64)
    vectors = vectors - vectors.mean(axis=0)
    units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    halves = np.empty(len(points))
    similarity = np.empty(len(points))
    for k, point in enumerate(points):
        distances = _distances(points, point)
        nearest = np.argsort(distances, kind="stable")[:members]
        halves[k] = distances[nearest[-1]]
        # the squared norm of the mean is the mean of all products
        similarity[k] = np.sum(units[nearest].mean(axis=0) ** 2)
    found: list[Square] = []
    for k in np.argsort(-similarity, kind="stable"):
        if len(found) < number and all(
            _distances(points[k], centre) > halves[k] + half for centre, half in found
        ):
            found.append((points[k], float(halves[k])))
    return found


def _distances(points: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Chebyshev distances, within which points lie in a square."""
    return np.abs(points - centre).max(axis=-1)
