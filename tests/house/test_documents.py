"""What the documents say is there: commands, files, examples."""

import doctest
import importlib
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((ROOT / "rnnsearch_tf").rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


def test_files_named_in_the_tour_exist():
    tour = (ROOT / "docs" / "code-tour.md").read_text(encoding="utf-8")
    names = re.findall(r"`([\w/]+\.py)`", tour)
    assert len(names) > 30
    for name in names:
        assert any((ROOT / folder / name).exists() for folder in ("", "rnnsearch_tf")) or any(
            (ROOT / "rnnsearch_tf").glob(f"*/{name}")
        ), name


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 90


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings(module):
    result = doctest.testmod(
        importlib.import_module(module), optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert result.attempted and not result.failed
