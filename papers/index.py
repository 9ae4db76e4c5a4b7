"""The index of the pages: the papers' claims in one table, then a list of the pages."""

from __future__ import annotations

from papers.claims import claims
from papers.page import Page

DISCUSSION = "discussion.md"
"""A page beside the others, written by hand."""


def page(work, models) -> Page:
    """The claims, and the pages of all items that are measured; `models` as for claims."""
    found = claims(work, models)
    found.title = "The papers' tables, figures and claims, reproduced at small scale"
    if (work.folder / DISCUSSION).exists():
        found.text.append(
            f"[What did not hold, what is undecided, and why]({DISCUSSION}): a discussion."
        )
    entries = []
    for name, item in work.scale.items.items():
        measured = work.with_measured_seeds(name, item)
        if measured is not None and not item.made_of:
            seeds = len(measured.for_item(item).seeds)
            count = "one seed" if seeds == 1 else f"{seeds} seeds"
            entries.append(f"- [{name}]({name}.md): {item.shows} ({count})")
    found.text += ["## The pages", *entries]
    return found
