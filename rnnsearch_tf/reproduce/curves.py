"""BLEU as curves."""

from __future__ import annotations


def curves_figure(panels):
    """Curves side by side; systems that attend are drawn solid, the others dashed.

    Args:
        panels: {what stands along the x axis: {system: (list of places, list of BLEU)}}.

    Returns:
        matplotlib Figure.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6 * len(panels), 4), layout="constrained")
    for axes, (label, curves) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items()):
        axes.set(xlabel=label, ylabel="BLEU")
        for name, (places, values) in curves.items():
            axes.plot(places, values, "-" if name.startswith("rnnsearch") else "--", marker="o", markersize=3, label=name)
        axes.set_ylim(bottom=0)
        axes.legend()
    return figure
