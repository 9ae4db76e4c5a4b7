"""The messages under "When something goes wrong" are the program's own."""

import ast
import re

import pytest
from documents import ROOT, read

HEADINGS = re.findall(r"^### (.*)", read("docs/troubleshooting.md"), re.MULTILINE)
MESSAGES = [match[1] for heading in HEADINGS if (match := re.fullmatch(r"`(.*)`", heading))]
GAP = "\0"


def fixed(node):
    """What a string says, with a gap for each value that is put in."""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(fixed, node.values))
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else GAP


def strings():
    """Every string in the package that is no part of another, as one text."""
    for path in sorted((ROOT / "rnnsearch_tf").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        yield from (
            fixed(node)
            for node in ast.walk(tree)
            if isinstance(node, (ast.JoinedStr, ast.Constant))
        )


SAID = list(strings())


@pytest.mark.parametrize("message", MESSAGES)
def test_the_program_says_so(message):
    pattern = re.compile(
        ".*".join(re.escape(part.strip()) for part in message.split("…")), re.DOTALL
    )
    assert any(map(pattern.search, SAID)), message


def test_most_headings_are_messages():
    assert len(MESSAGES) > 25 and len(MESSAGES) > 0.8 * len(HEADINGS)
