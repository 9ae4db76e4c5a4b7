"""What several tests of training leave out."""

import types

import pytest

from rnnsearch_tf.translation import Translator


@pytest.fixture
def untranslated(monkeypatch):
    """The development text is translated to nothing, for tests that do not ask how well: to trace a
    search takes seconds.
    """
    monkeypatch.setattr(
        Translator,
        "translate",
        lambda self, texts, **_: [types.SimpleNamespace(text="") for _ in texts],
    )
