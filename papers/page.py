"""A page of results: Markdown to read, the numbers as JSON, pictures as PNG."""

from __future__ import annotations

import dataclasses
import html
import json
import pathlib
import re
import statistics

from rnnsearch_tf.extras.plots.alignment import png
from rnnsearch_tf.files.atomic import write_file


@dataclasses.dataclass
class Page:
    """The results of an item.

    Attributes:
        title: its name in the paper.
        ours, paper: tables, as lists of rows {column: value, or list of one value for each seed};
            the paper's may be empty.
        text: paragraphs below the tables.
        pictures: {name: matplotlib Figure}.
        numbers: what the JSON file has besides, {key: value}.
    """

    title: str
    ours: list
    paper: list = dataclasses.field(default_factory=list)
    text: list = dataclasses.field(default_factory=list)
    pictures: dict = dataclasses.field(default_factory=dict)
    numbers: dict = dataclasses.field(default_factory=dict)

    def write(self, folder, item: str, made: dict) -> pathlib.Path:
        """Write DIR/ITEM.md, ITEM.json and its pictures; return the path of the first."""
        folder = pathlib.Path(folder)
        for name, figure in self.pictures.items():
            write_file(folder / f"{item}-{name}.png", png(figure))
        numbers = {
            "item": item,
            "title": self.title,
            "ours": self.ours,
            "paper": self.paper,
            **self.numbers,
            "made": made,
        }
        write_file(
            folder / f"{item}.json", json.dumps(numbers, ensure_ascii=False, indent=1) + "\n"
        )
        parts = [f"# {self.title}", *(["## Ours"] if self.paper else []), *table(self.ours)]
        if any(isinstance(value, list) for row in self.ours for value in row.values()):
            parts.append("±: the standard deviation over the seeds; without it, of one model.")
        parts += [f"![{name}]({item}-{name}.png)" for name in self.pictures]
        parts += ["## The paper's", *table(self.paper)] if self.paper else []
        parts += [
            *self.text,
            "## How it was made",
            *(_listed(name, value) for name, value in made.items()),
        ]
        write_file(folder / f"{item}.md", _joined(parts))
        return folder / f"{item}.md"


def _listed(name, value):
    """An entry of a Markdown list; values separated by semicolons become a nested list."""
    first, *others = value.split("; ")
    return (
        "\n".join([f"- {name}:", *(f"    - {each}" for each in (first, *others))])
        if others
        else f"- {name}: {value}"
    )


def table(rows) -> list:
    """A Markdown table of rows with the same columns."""
    if not rows:
        return []
    columns = list(rows[0])
    lines = [
        columns,
        ["---"] * len(columns),
        *([_cell(row[column]) for column in columns] for row in rows),
    ]
    return ["\n".join(f"| {' | '.join(line)} |" for line in lines)]


def over_seeds(values):
    """The value of a cell from one value for each seed: a single value, a list of several, or None
    if one is None.
    """
    if None in values:
        return None
    return values[0] if len(values) == 1 else list(values)


def shown(value) -> str:
    """A value as text: a list as ``mean ± standard deviation``, numbers with two digits, from −1
    to 1 with three, whole ones with none.

    Example:
        >>> shown([10.0, 11.0, 13.5]), shown([1500, 1500]), shown([1500, 1700]), shown(0.0625)
        ('11.50 ± 1.80', '1500', '1600 ± 141', '0.062')
    """
    if value is None:
        return "–"
    if isinstance(value, list):
        whole = all(isinstance(each, int) for each in value)
        if whole and len(set(value)) == 1:
            return str(value[0])
        digits = 0 if whole else 3 if max(map(abs, value)) <= 1 else 2
        return f"{statistics.mean(value):.{digits}f} ± {statistics.stdev(value):.{digits}f}"
    return f"{value:.{3 if abs(value) <= 1 else 2}f}" if isinstance(value, float) else str(value)


def _cell(value):
    """A value as text, escaped for Markdown: words may be ``<unk>`` and ``|``."""
    text = html.escape(shown(value), quote=False)
    return re.sub(r"([\[\]|*_`\\])", r"\\\1", text).replace("\n", " ")


def _joined(parts):
    """Join paragraphs by blank lines, list entries by line breaks."""
    text = parts[0]
    for before, part in zip(parts, parts[1:]):
        text += ("\n" if before.startswith("- ") and part.startswith("- ") else "\n\n") + part
    return text + "\n"
