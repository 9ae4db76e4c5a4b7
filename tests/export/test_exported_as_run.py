"""Commands take an exported model as they take the run."""

import json

import pytest

from rnnsearch_tf.cli.main import run
from rnnsearch_tf.export.writer import about_model
from rnnsearch_tf.runs.folder import Run

LINES = ["My sister reads an old book.", "", "the blue door", "Zoé 🙂"]
UNKNOWN = ["--replace-unknown"]  # as the model was exported


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "source"
    path.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return str(path)


def command(capsys, name, model, *words, code=0):
    assert run([name, "--model", str(model), *map(str, words)]) == code
    captured = capsys.readouterr()
    return captured.out.splitlines(), captured.err


def near(found, expected):
    """Equal, but for the last digits of numbers."""
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
        pytest.param(["--alignment"], marks=pytest.mark.slow),
        ["--json", "--alignment", "--probabilities", "--n-best", 2],
    ],
    ids=str,
)
def test_the_same_output(capsys, run_folder, exported, source, words):
    expected, _ = command(capsys, "translate", run_folder, *UNKNOWN, *words, source)
    found, _ = command(capsys, "translate", exported.parent, *words, source)
    if "--json" in words:
        for line, wanted in zip(map(json.loads, found), map(json.loads, expected), strict=True):
            assert near(line, wanted)
    else:
        assert found == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", ["score", "align"])
def test_scores_and_links(capsys, run_folder, exported, source, name):
    expected, _ = command(capsys, name, run_folder, source, source)
    found, _ = command(capsys, name, exported, source, source)
    numbers = [list(map(float, lines)) if name == "score" else lines for lines in (found, expected)]
    assert near(*numbers)


@pytest.mark.parametrize(
    "words, message",
    [
        (["--beam-size", 5], "search.beam_size: expected 3, which"),
        (["--set", "search.allow_unknown=false"], "expected a run folder with it, got the export"),
        (["--n-best", 3], "nbest: expected at most 2, which"),
    ],
)
def test_a_fixed_search_says_so(capsys, exported, source, words, message):
    out, err = command(capsys, "translate", exported, *words, source, code=2)
    assert not out and message in err


def test_more_examples_than_the_page_shows_are_left_out(run_folder, translator, tmp_path):
    lines = [f"{k} {'e' * 99}" for k in range(2000)]
    (tmp_path / "examples.txt").write_text("\n\n".join(lines))
    assert about_model(translator, Run(tmp_path))["examples"] == lines[:50]
