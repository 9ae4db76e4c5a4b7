"""Pairs that are held in Python, in the forms that people have."""

import numpy as np
import pandas
import pytest

import rnnsearch_tf as rt
from rnnsearch_tf.data.pairs import Pairs
from rnnsearch_tf.errors import UsageError, UserError

PAIRS = [("a cat", "un chat"), ("the dog", "le chien"), ("no", "non")]


@pytest.mark.parametrize(
    "given",
    [
        lambda: PAIRS,
        lambda: [list(pair) for pair in PAIRS],
        lambda: iter(PAIRS),
        lambda: (pair for pair in PAIRS),
        lambda: pandas.DataFrame(PAIRS, columns=["en", "fr"]),
        lambda: np.array(PAIRS),
        lambda: [{"en": source, "fr": target} for source, target in PAIRS],
        lambda: [{"translation": {"en": source, "fr": target}} for source, target in PAIRS],
    ],
    ids=["tuples", "lists", "iterator", "generator", "frame", "array", "records", "translations"],
)
def test_pairs_in_any_form(given):
    pairs = Pairs(given())
    assert list(pairs) == PAIRS and list(pairs) == PAIRS  # again
    assert len(pairs) == 3 and pairs[1] == PAIRS[1]
    with pytest.raises(IndexError):
        pairs[3]


def test_the_sides_of_records_have_names():
    """In each record, its keys may have another order."""
    records = [{"en": "a cat", "fr": "un chat"}, {"fr": "le chien", "en": "the dog"}]
    assert list(Pairs(records)) == PAIRS[:2]
    named = [{"target": target, "source": source} for source, target in PAIRS]
    assert list(Pairs(named)) == list(Pairs(pandas.DataFrame(named))) == PAIRS
    with pytest.raises(UsageError, match="pairs:2: expected a pair .* got .*'it': 'b'"):
        Pairs([records[0], {"en": "a", "it": "b"}])


def test_two_sides_in_any_form():
    frame = pandas.DataFrame(PAIRS, columns=["en", "fr"])
    for sides in (
        [list(side) for side in zip(*PAIRS)],
        [iter(side) for side in zip(*PAIRS)],
        [frame["en"], frame["fr"]],
    ):
        pairs = Pairs(*sides)
        assert list(pairs) == PAIRS and list(pairs) == PAIRS


@pytest.mark.parametrize("kind", [object, "string"])
def test_an_empty_cell_is_a_bad_line(kind):
    frame = pandas.DataFrame([*PAIRS, ("x", None)], columns=["en", "fr"], dtype=kind)
    with pytest.raises(UserError, match="target:4: expected a sentence, got an empty line"):
        list(Pairs(frame))
    skipping = Pairs(frame, on_bad_line="skip")
    assert list(skipping) == PAIRS and skipping.report.empty == 1
    assert list(Pairs(frame["en"], frame["fr"], "skip")) == PAIRS


@pytest.mark.parametrize(
    "given",
    [["a cat", "the dog"], [("a",)], [("a", "b", "c")], [("a", 3)], [{"en": "a"}], [None]],
    ids=str,
)
def test_what_are_no_pairs_is_said(given):
    with pytest.raises(
        UsageError,
        match="(pairs|target):1: expected (a pair .source, target. of|a sentence as) str, got",
    ):
        Pairs(given)
    for sides in ((5,), (["a"], 5), (5, ["a"])):
        with pytest.raises(UsageError, match="pairs: expected paths or sentences, got int 5"):
            Pairs(*sides)
    with pytest.raises(UsageError, match=r"pairs\[-1\]: expected a whole number from 0"):
        Pairs(PAIRS)[-1]
    with pytest.raises(UsageError, match="target:2: expected a sentence as str, got int '3'"):
        list(Pairs(["a", "b"], ["c", 3]))


def test_two_lists_are_no_pairs():
    """Of two sentences each, they would pass for two pairs."""
    with pytest.raises(
        UsageError, match=r"got a tuple of two lists; .*: Pairs\(sources, targets\)"
    ):
        Pairs((["a cat", "the dog"], ["un chat", "le chien"]))
    assert list(Pairs([["a cat", "un chat"], ["the dog", "le chien"]])) == PAIRS[:2]


def test_a_list_goes_wherever_text_goes():
    config = rt.load_config(
        values={
            "data": {"batch_size": 2, "batching": "unsorted", "shuffle_buffer": 0},
            "source": {"tokenization": "space"},
            "target": {"tokenization": "space"},
        }
    )
    source, target = rt.build_texts(config, PAIRS)
    rows = {
        form: [
            batch["target_ids"].numpy().tolist()
            for batch in rt.training_dataset(source, target, pairs, config.data, seed=1)
        ]
        for form, pairs in {"list": PAIRS, "Pairs": Pairs(PAIRS), "iterator": iter(PAIRS)}.items()
    }
    assert rows["list"] == rows["Pairs"] == rows["iterator"] and len(rows["list"]) == 2
