"""Plots of many vectors: the whole plane, and regions of it from nearer (Cho et al. 2014a, Figures
4 and 5).
"""

from __future__ import annotations

import numpy as np

from rnnsearch_tf.extras.plots.alignment import vectors_figure

REGIONS = 3
MEMBERS = 30
"""Points of a region."""

COLOURS = "tab:red", "tab:blue", "tab:green"


def zoomed_figures(points, texts, squares) -> dict:
    """The whole plane with frames around some regions, and each of these by itself.

    Args:
        points: float [N, 2].
        texts: list[str] of length N, those first that matter most.
        squares: what :func:`regions` found.

    Returns:
        {"whole", "region-1", …: matplotlib Figure}. A region has the colour of its frame.
    """
    from matplotlib.patches import Rectangle

    points = np.asarray(points)
    figures = {"whole": vectors_figure(points, texts)}
    axes = figures["whole"].axes[0]
    for colour, (centre, half) in zip(COLOURS, squares):
        centre = np.asarray(centre)
        inside = np.flatnonzero(_distances(points, centre) <= half)
        axes.add_patch(
            Rectangle(centre - half, 2 * half, 2 * half, fill=False, edgecolor=colour, linewidth=2)
        )
        axes.scatter(*points[inside].T, s=6, color=colour, linewidths=0)
        figure = vectors_figure(points[inside], [texts[k] for k in inside])
        figure.axes[0].collections[0].set(color=colour, sizes=[16])
        figure.axes[0].spines[:].set_color(colour)
        figures[f"region-{len(figures)}"] = figure
    return figures


def regions(points, vectors, number: int = REGIONS, members: int = MEMBERS) -> list:
    """Squares around a point that hold so many points, do not overlap, and whose vectors are most
    alike.

    How much vectors are alike is the mean of the cosines of all pairs of them, the mean vector of
    all subtracted first.

    Args:
        points: float [N, 2].
        vectors: float [N, size].
        number: of squares; fewer where they would overlap.
        members: points of each, its centre included; all where there are fewer.

    Returns:
        list of (centre float [2], half of the side), those most alike first.
    """
    points = np.asarray(points, np.float64)
    vectors = np.asarray(vectors, np.float64)
    vectors = vectors - vectors.mean(axis=0)
    units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    halves = np.empty(len(points))
    alike = np.empty(len(points))
    for k, point in enumerate(points):
        distances = _distances(points, point)
        nearest = np.argsort(distances, kind="stable")[:members]
        halves[k] = distances[nearest[-1]]
        # the square of the mean is the mean of all products
        alike[k] = np.sum(units[nearest].mean(axis=0) ** 2)
    found = []
    for k in np.argsort(-alike, kind="stable"):
        if len(found) < number and all(
            _distances(points[k], centre) > halves[k] + half for centre, half in found
        ):
            found.append((points[k], float(halves[k])))
    return found


def _distances(points, centre):
    """The larger of the distances along the two axes: a square is what lies within one of them."""
    return np.abs(points - centre).max(axis=-1)
