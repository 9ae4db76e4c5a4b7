import pytest

from rnnsearch_tf.search import beam


@pytest.fixture
def no_room(monkeypatch):
    """The length ratio alone limits a search, so that one can look at all outputs of a sentence."""
    monkeypatch.setattr(beam, "ROOM", -1000)
