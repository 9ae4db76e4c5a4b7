"""The project's documents, and what stands in them."""

import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "papers/results/*.md",
        "serving/*.md",
        "benchmarks/*.md",
    )
    for path in ROOT.glob(pattern)
)

FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?<=\n\n)((?: {4}.*\n|\n(?= {4}))+)")
INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")


def read(document):
    """The text of a document, named by its path in the repository."""
    return (ROOT / document).read_text(encoding="utf-8")


def code_blocks(document):
    """(language or "", code) of every code block in order; what is indented has no language."""
    text = read(document)
    fenced = [(match.start(), match[1], match[2]) for match in FENCED.finditer(text)]
    # same places, nothing indented
    hidden = FENCED.sub(lambda match: re.sub(r"[^\n]", ".", match[0]), text)
    indented = [
        (match.start(), "", re.sub(r"^ {4}", "", match[1], flags=re.MULTILINE))
        for match in INDENTED.finditer(hidden)
    ]
    return [(language, code) for _, language, code in sorted(fenced + indented)]


def prose(document):
    """The text without its code blocks."""
    return INDENTED.sub("\n", FENCED.sub("\n", read(document)))
