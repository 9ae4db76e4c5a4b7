"""`make docs`: the site builds without a warning, says what the program says, and loads nothing
from elsewhere.
"""

import html
import os
import re
import subprocess
import sys

import pytest
from documents import ROOT

import rnnsearch_tf
from rnnsearch_tf.cli.main import COMMANDS
from rnnsearch_tf.config import option_fields

LOADED = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*?\bsrc=\"([^\"]*)"
    r"|<link\b(?![^>]*rel=\"canonical)[^>]*?\bhref=\"([^\"]*)"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site."""
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600
    )
    assert built.returncode == 0, built.stderr  # --quiet would hide warnings from --strict
    return folder


def page(site, name):
    """The text of a page, without its tags."""
    return html.unescape(
        re.sub(r"<[^>]*>", "", (site / f"{name}.html").read_text(encoding="utf-8"))
    )


def test_every_public_name_command_and_option_is_described(site):
    reference = (site / "reference" / "python.html").read_text(encoding="utf-8")
    assert all(
        f'id="rnnsearch_tf.{module}.{name}"' in reference
        for name, module in rnnsearch_tf._MODULE_OF.items()
    )
    assert "softmax of e_i" in page(site, "reference/layers")
    command_line = page(site, "reference/command-line")
    assert all(f"usage: rnnsearch {name} " in command_line for name in COMMANDS)
    text = " ".join(page(site, "reference/options").split())
    for name, field in option_fields():
        assert f"{name}: " in text and " ".join(field.metadata["meaning"].split()) in text, name


def test_nothing_is_loaded_from_elsewhere(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 20
    for path in pages:
        loaded = [
            address
            for pair in LOADED.findall(path.read_text(encoding="utf-8"))
            for address in pair
            if address
        ]
        assert loaded and not [
            address for address in loaded if re.match(r"(https?:)?//", address)
        ], path


def test_every_document_has_a_page(site):
    for document in (ROOT / "docs").rglob("*.md"):
        assert (site / document.relative_to(ROOT / "docs").with_suffix(".html")).exists(), document
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        text = (site / "notebooks" / f"{notebook.stem}.html").read_text(encoding="utf-8")
        assert f'src="{notebook.stem}-1.png"' in text and (
            site / "notebooks" / f"{notebook.stem}-1.png"
        ).read_bytes().startswith(b"\x89PNG")
        assert "$" not in re.sub(
            r"<code.*?</code>|<script.*?</script>|<pre.*?</pre>", "", text, flags=re.DOTALL
        ), notebook
