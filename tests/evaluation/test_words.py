"""The form of text that published BLEU is of, against the published files and against what Moses is
known to do.
"""

import gzip
import os
import pathlib
import sys

import pytest

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.evaluation.words import lc_norm_tok

SHARED = pathlib.Path(
    os.environ.get("RNNSEARCH_SHARED", pathlib.Path(__file__).parents[3] / "shared")
)
MULTI30K = SHARED / "data" / "multi30k"


@pytest.mark.parametrize(
    "language, line, expected",
    [
        (
            "en",
            'A man\'s "T-shirt".',
            "a man &apos;s &quot; t-shirt . &quot;",
        ),  # normalize-punctuation moves English full stops in
        ("fr", "L'homme dit «Non», puis rit.", "l&apos; homme dit &quot; non &quot; , puis rit ."),
        (
            "fr",
            'Il s\'appelle "Neude."',
            "il s&apos; appelle &quot; neude &quot; .",
        ),  # and French ones out, at the end of a line too
        ("de", "Straße & Weg – 5 %", "straße &amp; weg - 5 %"),
        ("fr", "", ""),
    ],
)
def test_known_lines(language, line, expected):
    assert lc_norm_tok([line], language)[0] == [expected]


@pytest.mark.parametrize("language", ["en", "fr", "de"])
@pytest.mark.skipif(
    not (MULTI30K / "test_2016_flickr.lc.norm.tok.fr.gz").exists(),
    reason="the shared corpora are not here",
)
def test_the_published_files(language):
    """Every line of test_2016_flickr as the dataset publishes it."""
    folder = MULTI30K
    raw, published = (
        gzip.open(
            folder / f"test_2016_flickr.{part}{language}.gz", "rt", encoding="utf-8", newline="\n"
        )
        .read()
        .splitlines()
        for part in ("", "lc.norm.tok.")
    )
    assert len(raw) == 1000 and lc_norm_tok(raw, language)[0] == published


def test_the_signature_names_the_rules():
    import sacremoses

    assert lc_norm_tok(["a"], "de")[1] == f"text:lc.norm.tok-de|sacremoses:{sacremoses.__version__}"


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(UserError, match="expected the package sacremoses, found none; pip install"):
        lc_norm_tok(["a"], "fr")
