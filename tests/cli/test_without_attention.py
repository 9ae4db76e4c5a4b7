"""A model without attention: it translates and scores, and says no to what needs an alignment."""

import pytest
from tiny_run import write_run

from rnnsearch_tf.cli.main import run

SETTINGS = ["model.system=rnnencdec", "model.alignment_size=1000"]


@pytest.fixture(scope="module")
def fixed_context(tmp_path_factory):
    return str(write_run(tmp_path_factory.mktemp("fixed") / "run", SETTINGS))


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "source"
    path.write_text("the blue door\n\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    "words",
    [
        ["align", "{text}", "{text}"],
        ["plot-attention", "--output", "{folder}", "{text}"],
        ["translate", "--replace-unknown", "{text}"],
        ["translate", "--alignment", "{text}"],
        ["export", "--output", "{folder}", "--set", "search.replace_unknown=true"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_what_needs_an_alignment_is_refused(fixed_context, text, tmp_path, capsys, words):
    verb, *rest = [word.format(text=text, folder=tmp_path / "out") for word in words]
    assert run([verb, "--model", fixed_context, *rest]) == 2
    captured = capsys.readouterr()
    assert not captured.out and "expected a model with attention, got RNNEncDec" in captured.err


@pytest.mark.slow
def test_the_rest_is_as_always(fixed_context, text, capsys):
    for verb in (["translate"], ["score", text]):
        assert run([*verb[:1], "--model", fixed_context, *verb[1:], text]) == 0
        assert len(capsys.readouterr().out.splitlines()) == 2
