"""Links and files that the documents name are there."""

import re

import pytest
from documents import DOCUMENTS, FENCED, INLINE, ROOT, prose, read

LINK = re.compile(r"\]\(([^)\s]*)\)")
NAMED = re.compile(
    r"(?:benchmarks|configs|docs|export|notebooks|rnnsearch_tf|serving|tests)/[a-z0-9_./-]+\.\w+"
)
MADE = "docs/reference/"
"""Pages that `make docs` makes of the program; test_site.py follows links to them."""


def anchors(document):
    """What `#…` may name: the headings, as Markdown writes them into links."""
    headings = re.findall(r"^#+ (.*)", FENCED.sub("", read(document)), re.MULTILINE)
    return {
        re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())
        for heading in headings
    }


def broken_links(document):
    for link in LINK.findall(INLINE.sub("", prose(document))):
        target, _, anchor = link.partition("#")
        if target.startswith("http"):
            continue
        path = (ROOT / document).parent / target if target else ROOT / document
        name = path.resolve().relative_to(ROOT).as_posix()
        if name.startswith(MADE):
            continue
        if not path.exists() or anchor and anchor not in anchors(name):
            yield link


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_to_files_and_headings(document):
    assert not list(broken_links(document))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_files_that_are_named_are_there(document):
    names = [name for name in INLINE.findall(read(document)) if NAMED.fullmatch(name)]
    assert not [
        name
        for name in names
        if not any((folder / name).exists() for folder in (ROOT, ROOT / "rnnsearch_tf"))
    ]


def test_the_readme_links_every_guide():
    guides = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs/guides").glob("*.md")}
    assert guides <= set(LINK.findall(read("README.md")))
