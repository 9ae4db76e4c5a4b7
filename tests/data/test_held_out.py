"""A development text out of the training text: its size, no overlap, and that every pass agrees."""

import pytest

from rnnsearch_tf.config import load_config
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.errors import UserError


@pytest.fixture
def lines():
    """4,000 pairs; every source stands three times with other targets, every 50th target is the
    same, two lines are bad.
    """
    sources = [f"sentence {number // 3}" for number in range(4000)]
    targets = ["oui" if number % 50 == 0 else f"phrase {number}" for number in range(4000)]
    targets[7] = targets[1234] = " "
    return sources, targets


def parts(write, lines, size=200, **data):
    paths = dict(train_source=write("s.gz", lines[0]), train_target=write("t", lines[1]))
    config = load_config(
        values={"data": {**paths, "held_out": size, "on_bad_line": "skip", **data}}
    )
    return [open_corpus(config, part) for part in ("train", "development")]


def test_no_sentence_of_either_side_is_in_both(write, lines):
    training, development = (list(part) for part in parts(write, lines))
    assert 150 < len(development) < 250
    for side in (0, 1):
        assert not {pair[side] for pair in training} & {pair[side] for pair in development}
    whole = {pair for pair in zip(*lines) if pair[1] != " "}
    assert {*training, *development} <= whole
    sources, targets = ({pair[side] for pair in development} for side in (0, 1))
    lost = whole - {*training, *development}
    assert lost and all(source in sources or target in targets for source, target in lost)


def test_every_pass_and_every_order_hold_out_the_same(write, lines):
    training, development = parts(write, lines)
    assert list(development) == list(development) and list(training) == list(training)
    backwards = [side[::-1] for side in lines]
    assert sorted(parts(write, backwards)[1]) == sorted(development)


def test_bad_lines_are_reported_once(write, lines):
    training, development = parts(write, lines)
    assert (training.check().empty, development.check().empty) == (2, 0)
    training, _ = parts(write, lines, on_bad_line="error")
    with pytest.raises(UserError, match="t:8: expected a sentence, got an empty line"):
        training.check()


def test_without_the_option_there_is_no_development_text(write, lines):
    _, development = parts(write, lines, size=0)
    assert development is None


def test_the_first_of_several_corpora_gives_it_and_all_keep_out_of_it(write):
    """Every line of the first stands in the second too, with another one on the other side."""
    first = [[f"{side} {number}" for number in range(1000)] for side in ("a", "b")]
    second = [
        first[0] + [f"c {number}" for number in range(1000)],
        [f"d {number}" for number in range(1000)] + first[1],
    ]
    corpora = [
        dict(
            zip(
                ("source", "target"),
                (write(f"{name}.{side}", lines) for side, lines in zip("st", sides)),
            ),
            weight=weight,
        )
        for name, sides, weight in (("one", first, 1.0), ("two.gz", second, 0.5))
    ]
    config = load_config(values={"data": {"corpora": corpora, "held_out": 100}})
    training, development = (open_corpus(config, part) for part in ("train", "development"))
    held_out = list(development)
    assert 60 < len(held_out) < 140 and set(held_out) <= set(zip(*first))
    assert len(list(training)) == 3000 - 3 * len(held_out) and [
        weight for _, weight in training.corpora
    ] == [1.0, 0.5]
    for side in (0, 1):
        assert not {pair[side] for pair in training} & {pair[side] for pair in held_out}


@pytest.mark.parametrize(
    "size, part, hint",
    [
        (10**6, 0, "none of 3,998 for training; set it lower"),
        (1, 1, "none of 40 for development; set it higher"),
    ],
)
def test_a_part_without_a_pair_is_said(write, lines, size, part, hint):
    """A sentence that stands three times goes to one part whole, so one pair in 40 may be none."""
    few = lines if part == 0 else (["same"] * 40, ["other"] * 40)
    with pytest.raises(
        UserError,
        match=(
            f"held_out: expected a number that leaves pairs for both parts, got {size:,}, which"
            f" leaves {hint}"
        ),
    ):
        parts(write, few, size=size)[part].check()
