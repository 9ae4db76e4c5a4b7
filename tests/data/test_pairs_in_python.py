"""Pairs that are held in Python."""

import pytest

import rnnsearch_tf as rt
from rnnsearch_tf.data.pairs import Pairs
from rnnsearch_tf.errors import UsageError, UserError

PAIRS = [("a cat", "un chat"), ("the dog", "le chien"), ("no", "non")]


@pytest.mark.parametrize("form", [list, iter, lambda pairs: [list(pair) for pair in pairs]])
def test_any_iterable_of_pairs_is_read_again(form):
    pairs = Pairs(form(PAIRS))
    assert list(pairs) == PAIRS and list(pairs) == PAIRS


def test_two_sides_may_be_generators():
    pairs = Pairs(*(iter(side) for side in zip(*PAIRS)))
    assert list(pairs) == PAIRS and list(pairs) == PAIRS


def test_an_empty_text_is_a_bad_line():
    with pytest.raises(UserError, match="target:4: expected a sentence, got an empty line"):
        list(Pairs([*PAIRS, ("x", "")]))
    skipping = Pairs([*PAIRS, ("x", "")], on_bad_line="skip")
    assert list(skipping) == PAIRS and skipping.report.empty == 1


@pytest.mark.parametrize(
    "given", [["a cat"], [("a",)], [("a", "b", "c")], [("a", 3)], "fra.txt", 5]
)
def test_what_are_no_pairs_is_refused(given):
    message = "expected (a pair|pairs) .source, target.|expected a sentence"
    with pytest.raises(UsageError, match=message):
        Pairs(given)


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
