"""Symmetrization against Moses's published pseudocode on matrices, and an example worked out by
hand; the verb; gold links.
"""

import json
import math
import random
import types

import numpy as np
import pytest
from tiny_run import write_run

from rnnsearch_tf.cli.main import run
from rnnsearch_tf.alignment.aer import hypothesis_links
from rnnsearch_tf.alignment.links import entropies
from rnnsearch_tf.alignment.symmetrization import METHODS, check_same_words, grow_diag_final_and
from rnnsearch_tf.config import TextConfig
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.translation import Translator

STEPS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def published(e2f, f2e):
    """GROW-DIAG, FINAL-AND(e2f), FINAL-AND(f2e) of statmt.org's page of Moses, on bool matrices
    [English words, foreign words].
    """
    en, fn = e2f.shape
    alignment = e2f & f2e
    either = e2f | f2e
    added = True
    while added:
        added = False
        for e in range(en):
            for f in range(fn):
                if not alignment[e, f]:
                    continue
                for step in STEPS:
                    e_new = e + step[0]
                    f_new = f + step[1]
                    if not (0 <= e_new < en and 0 <= f_new < fn):
                        continue
                    if (not alignment[e_new].any() or not alignment[:, f_new].any()) and either[
                        e_new, f_new
                    ]:
                        alignment[e_new, f_new] = added = True
    for matrix in (e2f, f2e):
        for e in range(en):
            for f in range(fn):
                if not alignment[e].any() and not alignment[:, f].any() and matrix[e, f]:
                    alignment[e, f] = True
    return alignment


def as_links(matrix):
    return {(int(f), int(e)) for e, f in np.argwhere(matrix)}


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
def test_it_is_mosess(share):
    generator = np.random.default_rng(int(100 * share))
    different = 0
    for _ in range(200):
        e2f, f2e = generator.random((2, *generator.integers(1, 8, 2))) < share
        found = grow_diag_final_and(as_links(e2f), as_links(f2e))
        assert found == as_links(published(e2f, f2e))
        different += as_links(e2f & f2e) < found < as_links(e2f | f2e)
    assert different > 20


def test_worked_out_by_hand():
    """In common: 0-0, 3-3, 7-7, 8-8. By target word: 1-0 touches 0-0, and source word 1 is free:
    added. 1-1 touches 0-0, and target word 1 is free: added. 2-1 touches 1-0, and source word 2 is
    free: added. 2-2 touches 1-1, and target word 2 is free: added. 3-2 touches 3-3, which comes
    later: by then both its words have links. 9-7 touches 8-8 at a corner, and source word 9 is
        free: added. 5-5 touches
    nothing; both its words are free: added at the end. 5-0 and 6-0 are not: target word 0 has a
    link.
    """
    forward = {(0, 0), (1, 0), (1, 1), (3, 3), (3, 2), (5, 5), (7, 7), (8, 8), (9, 7)}
    reverse = {(0, 0), (2, 1), (3, 3), (2, 2), (5, 0), (6, 0), (7, 7), (8, 8)}
    assert grow_diag_final_and(forward, reverse) == {
        (0, 0),
        (3, 3),
        (1, 0),
        (1, 1),
        (2, 1),
        (2, 2),
        (5, 5),
        (7, 7),
        (8, 8),
        (9, 7),
    }
    assert METHODS["intersection"](forward, reverse) == {(0, 0), (3, 3), (7, 7), (8, 8)}
    assert METHODS["union"](forward, reverse) == forward | reverse


def test_entropy():
    rows = np.random.default_rng(1).dirichlet(np.ones(5), size=4)
    np.testing.assert_allclose(
        entropies(rows), [-sum(a * math.log(a) for a in row) for row in rows]
    )
    assert entropies(np.eye(3)).tolist() == [0, 0, 0] and entropies(np.full([1, 8], 1 / 8))[
        0
    ] == pytest.approx(math.log(8))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """RUNs of both directions; the other has its languages in exchange."""
    folder = tmp_path_factory.mktemp("both")
    languages = ["source.language=fr", "target.language=en"]
    return write_run(folder / "run", ["source.language=en", "target.language=fr"]), write_run(
        folder / "reverse", languages, seed=6
    )


@pytest.mark.slow
def test_two_models_are_put_together(runs, tmp_path, capsys, monkeypatch):
    loaded = {str(path): Translator.load(path) for path in runs}  # once for all commands
    monkeypatch.setattr(Translator, "load", lambda runs, **_: loaded[str(runs[0])])
    lines = {
        "s": ["The door is white.", "Where is the white cat?", "", "She goes to the hotel."],
        "t": ["La porte est blanche.", "Où est le chat ?", "", "Elle va."],
    }
    files = {name: str(tmp_path / name) for name in lines}
    for name, path in files.items():
        (tmp_path / name).write_text("".join(line + "\n" for line in lines[name]))

    def align(model, *words, order="st"):
        assert (
            run(
                ["align", "--model", str(model), *map(str, words), *(files[name] for name in order)]
            )
            == 0
        )
        return capsys.readouterr().out.splitlines()

    own = align(runs[0])
    other = [{(j, i) for i, j in hypothesis_links(line)} for line in align(runs[1], order="ts")]
    generator = random.Random(1)
    for method in [None, *generator.sample(sorted(METHODS), 3)]:
        out = align(
            runs[0], "--reverse-model", runs[1], *(["--symmetrize", method] if method else [])
        )
        expected = [
            METHODS[method or "grow-diag-final-and"](hypothesis_links(a), b)
            for a, b in zip(own, other)
        ]
        assert [hypothesis_links(line) for line in out] == expected
        assert all(
            line.split() == [f"{j}-{i}" for j, i in sorted(links)]
            for line, links in zip(out, expected)
        )
    assert out[2] == "" and expected[0]
    soft = [json.loads(line) for line in align(runs[0], "--soft")]
    for line in soft:
        np.testing.assert_allclose(line["entropy"], entropies(line["alignment"]), atol=1e-4)


@pytest.mark.parametrize(
    "words, message",
    [
        (["--symmetrize", "union"], "--symmetrize: expected --reverse-model"),
        (["--soft", "--reverse-model", "x"], "--soft: expected no"),
        (["--reverse-model", "{}"], "splits the source side by Moses rules of 'en'"),
        (["--symmetrize", "or"], "invalid choice"),
    ],
)
def test_what_is_wrong_is_said(runs, words, message, capsys):
    assert (
        run(
            [
                "align",
                "--model",
                str(runs[0]),
                *(word.format(runs[0]) for word in words),
                "/dev/null",
                "/dev/null",
            ]
        )
        == 2
    )
    captured = capsys.readouterr()
    assert message in captured.err and captured.err.count("\n") == 1 and captured.out == ""


def test_the_same_words_are_those_of_the_same_rules():
    def model(source, target):
        texts = (types.SimpleNamespace(config=side) for side in (source, target))
        return types.SimpleNamespace(**dict(zip(("source_text", "target_text"), texts)))

    french, pt = TextConfig(language="fr"), TextConfig(language="pt")
    hyphens = TextConfig(language="pt", split_hyphens=True)
    check_same_words(model(french, pt), model(TextConfig(language="pt-BR"), french))
    with pytest.raises(
        UsageError, match="target side by Moses rules of 'pt' like .* split at hyph"
    ):
        check_same_words(model(french, pt), model(hyphens, french))


@pytest.mark.parametrize("option", [{"unicode_form": "none"}, {"remove_invisible": True}])
@pytest.mark.parametrize("tokenization", ["moses", "space"])
def test_the_same_words_are_those_of_the_same_characters(option, tokenization):
    """A mark that is not composed with its letter is a Moses token; an invisible character may be
    a word.
    """
    texts = [
        types.SimpleNamespace(config=TextConfig(language="fr", tokenization=tokenization, **each))
        for each in ({}, option)
    ]
    ours, other = (types.SimpleNamespace(source_text=a, target_text=a) for a in texts)
    check_same_words(ours, ours)
    with pytest.raises(UsageError, match="got .*(unicode_form=none|remove_invisible=true); use"):
        check_same_words(ours, other)
