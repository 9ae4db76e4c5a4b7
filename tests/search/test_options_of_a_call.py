"""Options of the search that a call of the Translator sets, and those that loading sets."""

import pytest
from tiny_run import write_run

import rnnsearch_tf as rt
from rnnsearch_tf.errors import UsageError


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("options") / "run"
    return write_run(folder, ["search.beam_size=6", "search.nbest=5"])


def test_a_smaller_beam_shortens_the_list_of_the_run(run):
    translator = rt.Translator.load(run)
    assert [translator.search_config(beam_size=size).nbest for size in (2, 5, 9)] == [2, 5, 5]
    assert translator.search_config(length_penalty=0.5).nbest == 5
    assert translator.search_config(beam_size=4, nbest=3).nbest == 3
    with pytest.raises(UsageError, match="search.nbest: expected at most .* = 4, got 5"):
        translator.search_config(beam_size=4, nbest=5)


def test_an_override_is_an_option_of_every_call(run):
    text = "The door is white."
    changed = rt.Translator.load(run, ["search.nbest=2", "search.length_penalty=0"])
    assert changed.search_config().beam_size == 6
    assert (
        changed.translate(text).nbest
        == rt.Translator.load(run).translate(text, nbest=2, length_penalty=0.0).nbest
    )
    with pytest.raises(UsageError, match="did you mean search.beam_size"):
        rt.Translator.load(run, ["search.bean_size=2"])
