"""Options of the search that a call of the Translator sets."""

import pytest
from tiny_run import write_run

import rnnsearch_tf as rt
from rnnsearch_tf.errors import UsageError


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
