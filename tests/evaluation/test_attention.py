"""Translations as people look at them: printed, drawn, as an array with its tokens."""

import dataclasses

import numpy as np
import pytest

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.translation import Hypothesis, ScoredPair, Translation

ALIGNMENT = np.eye(3, dtype=np.float32)[[1, 0, 2]]
BEST = Hypothesis(
    "chat noir", -0.25, -0.75, ["chat", "noir"], ALIGNMENT, np.full(3, -0.25), 0.75, True
)
TRANSLATION = Translation(**vars(BEST), source_tokens=["black", "cat"], nbest=[BEST])
PAIR = ScoredPair(-0.75, np.zeros(3), ["black", "cat"], ["chat", "noir"], ALIGNMENT, 0)


def test_equal_translations_are_equal():
    for value in (BEST, TRANSLATION):
        assert value == dataclasses.replace(value, alignment=ALIGNMENT.copy(), tokens=None)
        assert value != dataclasses.replace(value, score=-0.5)
        assert len({value, dataclasses.replace(value)}) == 1
    assert PAIR == dataclasses.replace(PAIR, alignment=ALIGNMENT.copy())
    assert PAIR != dataclasses.replace(PAIR, target_tokens=["chat"])


@pytest.mark.parametrize("sentence", [TRANSLATION, PAIR])
def test_attention_is_an_array_with_its_tokens(sentence):
    """Targets are rows; both sides end with the end symbol, as in the picture."""
    weights, target, source = sentence.attention()
    assert weights.dtype == np.float32 and weights[0, 1] == 1
    assert (target, source) == (["chat", "noir", "</s>"], ["black", "cat", "</s>"])
    figure = sentence.plot()
    [axes] = figure.axes
    assert [label.get_text() for label in axes.get_xticklabels()] == source
    assert [label.get_text() for label in axes.get_yticklabels()] == target
    np.testing.assert_array_equal(axes.images[0].get_array(), weights)
    assert figure._repr_png_().startswith(b"\x89PNG")  # what a notebook shows


@pytest.mark.parametrize(
    "changes",
    [
        {"source_tokens": [], "alignment": np.zeros((1, 1))},  # a sentence without words
        {"alignment": np.zeros((3, 3))},  # a model without attention
    ],
)
def test_where_there_is_no_attention(changes):
    translation = dataclasses.replace(TRANSLATION, **changes)
    for look in (translation.attention, translation.plot):
        with pytest.raises(UserError):
            look()
