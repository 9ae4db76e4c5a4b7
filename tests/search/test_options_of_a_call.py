"""Options of the search that a call of the Translator sets."""

import gc
import weakref

import pytest
import tensorflow as tf
from tiny_run import write_run

import rnnsearch_tf as rt
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.translation import translator as module


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    folder = tmp_path_factory.mktemp("options")
    shortlist = folder / "shortlist"
    shortlist.write_text("a b 1.0\n", encoding="utf-8")
    settings = [f"search.shortlist={shortlist}", "search.shortlist_frequent=7"]
    return rt.Translator.load(write_run(folder / "run", settings))


def test_only_what_a_call_sets_must_have_an_effect(translator):
    """shortlist_frequent is the RUN's: without a shortlist it has no effect, and no harm."""
    config = translator.search_config(shortlist=None)
    assert config.shortlist is None and config.shortlist_frequent == 7
    with pytest.raises(UsageError, match="search.shortlist_frequent: has no effect"):
        translator.search_config(shortlist=None, shortlist_frequent=9)


def test_a_smaller_beam_shortens_the_list_of_the_run(tmp_path):
    translator = rt.Translator.load(
        write_run(tmp_path / "run", ["search.beam_size=6", "search.nbest=5"])
    )
    assert [translator.search_config(beam_size=size).nbest for size in (2, 5, 9)] == [2, 5, 5]
    assert translator.search_config(length_penalty=0.5).nbest == 5
    assert translator.search_config(beam_size=4, nbest=3).nbest == 3
    with pytest.raises(UsageError, match="search.nbest: expected at most .* = 4, got 5"):
        translator.search_config(beam_size=4, nbest=5)


def test_only_the_graphs_used_last_are_kept(translator, monkeypatch):
    """A server's clients may ask for any number of searches."""
    start = translator.model.start
    traced = []

    def noted(*values):
        traced.append(weakref.ref(tf.compat.v1.get_default_graph()))
        return start(*values)

    monkeypatch.setattr(type(translator.model), "start", lambda _, *values: noted(*values))
    monkeypatch.setattr(module, "MOST_GRAPHS", 2)
    texts = translator.source_text, translator.target_text
    translator = rt.Translator(translator.model, *texts, translator.config)
    for beam_size in (1, 2, 1, 3, 1, 2):
        assert translator.translate("The door is white.", beam_size=beam_size).tokens
    gc.collect()
    assert [graph() is not None for graph in traced] == [True, False, False, True]


def test_a_lexicon_of_words_has_no_pieces(tmp_path):
    """Its words are not found among pieces; the most attended piece may be copied."""
    pieces = ["source.tokenization=sentencepiece", "source.vocabulary_size=150"]
    run = write_run(tmp_path / "run", pieces)
    translator = rt.Translator.load(run)
    assert translator.search_config(replace_unknown=True).replace_unknown
    message = "search.lexicon: has no effect with source.tokenization=sentencepiece"
    with pytest.raises(UsageError, match=message):
        translator.search_config(replace_unknown=True, lexicon="lexicon")
    with pytest.raises(UsageError, match=message):
        rt.export_model(
            run, tmp_path / "served", overrides=["search.replace_unknown=true", "search.lexicon=f"]
        )
