"""`rnnsearch translate --model` on an exported model: what the RUN itself gives."""

import json

import numpy as np
import pytest

from rnnsearch_tf.cli.main import run
from rnnsearch_tf.export.about import FILE, write_about
from rnnsearch_tf.export.translator import ExportedTranslator
from rnnsearch_tf.runs.folder import Run

LINES = ["My sister reads an old book.", "", "the blue door", "Zoé 🙂"]
UNKNOWN = ["--replace-unknown"]  # as the model was exported


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "source"
    path.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return str(path)


def translate(capsys, model, *words, code=0):
    assert run(["translate", "--model", str(model), *map(str, words)]) == code
    captured = capsys.readouterr()
    return captured.out.splitlines(), captured.err


def near(found, expected):
    """Equal, but for the last digits of numbers (weights of an export have four)."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(
            near(found[key], value) for key, value in expected.items()
        )
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(near, found, expected))
    return (
        found == pytest.approx(expected, abs=1.1e-4)
        if isinstance(expected, float)
        else found == expected
    )


@pytest.mark.parametrize(
    "words",
    [
        pytest.param([], marks=pytest.mark.slow),
        pytest.param(["--alignment"], marks=pytest.mark.slow),
        ["--json", "--alignment", "--probabilities"],
    ],
    ids=str,
)
def test_the_same_output(capsys, run_folder, exported, source, words):
    expected, _ = translate(capsys, run_folder, *UNKNOWN, *words, source)
    for model in (exported, exported.parent):
        found, _ = translate(capsys, model, *words, source)
        if "--json" in words:
            for line, wanted in zip(map(json.loads, found), map(json.loads, expected), strict=True):
                # a cut translation has no row of the end symbol
                wanted["alignment"] = wanted["alignment"][: len(line["alignment"])]
                # its log-probability comes from a shorter length; its probabilities count an end
                if not wanted.pop("finished"):
                    for key in ("log_probability", "probability", "token_probabilities"):
                        wanted[key] = line[key]
                assert line.pop("finished") is None  # an export does not tell
                assert near(line, wanted)
        else:
            assert found == expected


@pytest.mark.parametrize("words", [[], ["--n-best", 2], ["--alignment"]], ids=str)
def test_what_is_cut_is_said(capsys, exported, tmp_path, words):
    """An export takes 200 tokens."""
    (tmp_path / "long").write_text(f"a book\n{'book ' * 201}\n{'book ' * 200}\n")
    lines, error = translate(capsys, exported, *words, tmp_path / "long")
    warning = "warning: 1 source sentence(s) were cut to 200 tokens, the maximum length of"
    assert len(lines) >= 3 and f"{warning} {exported}" in error


def test_more_examples_than_the_page_reads_are_left_out(run_folder, tmp_path):
    (tmp_path / "config.yaml").write_bytes((run_folder / "config.yaml").read_bytes())
    lines = [f"{k} {'e' * 99}" for k in range(2000)]
    (tmp_path / "examples.txt").write_text("\n\n".join(lines))
    write_about(tmp_path, Run(tmp_path))
    assert json.loads((tmp_path / FILE).read_text())["examples"] == lines[:50]


@pytest.mark.slow
def test_the_same_nbest_lists(capsys, run_folder, exported, source):
    expected, _ = translate(capsys, run_folder, *UNKNOWN, "--n-best", 2, source)
    found, _ = translate(capsys, exported, "--n-best", 2, source)
    assert len(found) == len(expected)
    for line, wanted in zip(found, expected):
        *same, score = line.split(" ||| ")
        *same_wanted, score_wanted = wanted.split(" ||| ")
        assert same[:2] == same_wanted[:2] and float(score) == pytest.approx(
            float(score_wanted), abs=1e-5
        )


@pytest.mark.parametrize(
    "words, message",
    [
        (["--beam-size", 5], "expected 3, which"),
        (
            ["--set", "search.allow_unknown=false"],
            "--set: expected a RUN with it, got the exported",
        ),
        (["--n-best", 4], "nbest: expected a whole number from 1 to 3, which"),
        (["--n-best", 2, "--alignment"], "expected no n-best list"),
    ],
)
def test_a_fixed_search_says_so(capsys, exported, source, words, message):
    out, err = translate(capsys, exported, *words, source, code=2)
    assert not out and message in err


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_no_links_are_invented_where_nothing_is_aligned(
    capsys, exported, source, monkeypatch, form
):
    """As the export of a system without attention answers: zeros."""
    ask = ExportedTranslator._request

    def without_attention(self, signature, **inputs):
        answer = ask(self, signature, **inputs)
        if "alignment" not in answer:
            return answer
        zeros = [
            json.dumps([[0.0] * len(row) for row in json.loads(rows)]).encode()
            for rows in answer["alignment"]
        ]
        return answer | {"alignment": np.array(zeros, object)}

    monkeypatch.setattr(ExportedTranslator, "_request", without_attention)
    out, err = translate(capsys, exported, "--alignment", *form, source, code=2)
    assert not out and "--alignment: expected a model with attention" in err
