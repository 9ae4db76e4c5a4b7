"""Word aligners of sil-thot: they find the grammar's links, in the right direction; without the
package it is said what to install.
"""

import importlib.util

import pytest

from rnnsearch_tf.data.phrasebook import phrasebook_alignments, phrasebook_tokens
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.alignment.aer import LinkCounts
from rnnsearch_tf.alignment.aligners import align

needs_thot = pytest.mark.skipif(
    importlib.util.find_spec("thot") is None, reason="the extra smt is not installed"
)


def texts(size, part):
    return [[" ".join(words) for words in side] for side in phrasebook_tokens(size, 1, part)]


@needs_thot
@pytest.mark.parametrize(
    "kind, bound",
    [("fast_align", 0.15), ("hmm", 0.15), pytest.param("ibm4", 0.15, marks=pytest.mark.slow)],
)
def test_it_finds_the_links_of_other_text(kind, bound):
    found = align(kind, texts(600, "train"), texts(50, "test"))
    counts = LinkCounts()
    for links, gold in zip(found, phrasebook_alignments(50, 1, "test"), strict=True):
        counts.add(set(gold), set(), set(links))
        assert links == sorted(links)
    assert counts.error_rate < bound


def test_a_missing_package_is_said(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        UserError,
        match=(
            r"word aligners: expected the package sil-machine, found none; pip install"
            r' "rnnsearch-tf\[smt\]"'
        ),
    ):
        align("hmm", (["a"], ["b"]), (["a"], ["b"]))


@needs_thot
def test_an_unknown_aligner_is_refused():
    with pytest.raises(
        UsageError, match=r"aligner: expected one of fast_align, hmm, ibm4, got 'ibm5'"
    ):
        align("ibm5", (["a"], ["b"]), (["a"], ["b"]))


@needs_thot
def test_pairs_that_are_too_long_have_no_links_and_are_counted(caplog):
    lines = ["a " * 200, "a " * 201]
    found = align("ibm4", (["a b"] * 9, ["c d"] * 9), (lines, lines))
    assert found[0] and not found[1]
    assert caplog.text.count("a side of more than 200 tokens have no links") == 1
    assert "aligns none: 1; split them" in caplog.text
