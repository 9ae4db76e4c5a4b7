"""Sentence pairs from files and from Python: what is read, left out, held out and refused."""

import gzip
import tracemalloc

import pytest

from rnnsearch_tf.config import TextConfig, load_config
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.data.pairs import Pairs, held_out
from rnnsearch_tf.data.phrasebook import phrasebook
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.text.pipeline import build_text, build_texts

PAIRS = [("a cat", "un chat"), ("the dog", "le chien"), ("no", "non")]


def test_reading_holds_one_line_not_the_file(tmp_path):
    path = tmp_path / "large.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(100):
            file.write(b"a house and a garden near the station\n" * 1000)  # 4 MB in all
    tracemalloc.start()
    count = sum(1 for _ in Pairs(str(path), str(path)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 100_000
    assert peak < 1_000_000


def test_empty_lines_are_left_out_and_counted(write):
    source = write("s", ["one", "two", "three", " \t", "five"])
    target = write("t", ["un", "", "trois", "quatre", "\u00a0\u3000"])
    pairs = Pairs(source, target)
    for _ in range(2):
        assert list(pairs) == [("one", "un"), ("three", "trois")]
        assert (pairs.report.kept, pairs.report.empty) == (2, 3)
    assert str(pairs.report) == f"2 pairs; left out: 3 with an empty line (first: {target}:2)"


def test_several_files_are_one_text_and_an_error_names_the_one(write):
    sources = [write("a.en", ["one", "two"]), write("b.en.gz", ["three"])]
    targets = [write("a.fr", ["un", "deux"]), write("b.fr", ["trois"])]
    pairs = Pairs(sources, targets)
    assert list(pairs) == [("one", "un"), ("two", "deux"), ("three", "trois")]
    write("b.fr", ["trois", "quatre"])
    with pytest.raises(UserError, match="b.fr:2: expected as many lines as in .*b.en.gz"):
        list(pairs)
    with pytest.raises(UsageError):
        Pairs(sources, targets[:1])
    with pytest.raises(UsageError):
        Pairs(sources, targets, [1.0])


@pytest.mark.parametrize("form", [list, iter, lambda pairs: [list(pair) for pair in pairs]])
def test_any_iterable_of_pairs_is_read_again(form):
    pairs = Pairs(form(PAIRS))
    assert list(pairs) == PAIRS and list(pairs) == PAIRS


@pytest.mark.parametrize(
    "pairs", [["a cat"], [("a",)], [("a", "b", "c")], [("a", 3)], "fra.txt", 5, [("a", "\ud800")]]
)
def test_what_are_no_pairs_is_refused(pairs):
    with pytest.raises(UsageError):
        list(Pairs(pairs))


def test_both_sides_are_counted_in_one_pass(write):
    sides = {
        "source": TextConfig(language="en"),
        "target": TextConfig(language="fr", vocabulary_size=4),
    }
    config = load_config(values={"target": {"vocabulary_size": 4}})
    pairs = Pairs(write("s", ["a b", "", "b"]), write("t", ["x y", "z", "y"]))
    together = build_texts(config, pairs)
    assert pairs.report.kept == 2
    alone = [build_text(sides[side], lines) for side, lines in zip(sides, zip(*pairs))]
    assert [text.vocabulary.tokens[3:] for text in together] == [["b", "a"], ["y"]]
    assert [text.vocabulary.tokens for text in together] == [
        text.vocabulary.tokens for text in alone
    ]


def test_pairs_of_a_configuration(write, tmp_path):
    write("a", ["x"])
    names = {"train_source": ["a", "a"], "train_target": ["a", "a"], "train_weights": [1, 0.5]}
    config = load_config(values={"data": {"folder": str(tmp_path), **names}})
    pairs = open_corpus(config)
    assert pairs.weights == [1.0, 0.5] and list(pairs) == [("x", "x")] * 2
    assert open_corpus(config, "development") is None
    named = {"development_source": "a", "development_target": "a", "held_out": 1}  # not held out
    config = load_config(values={"data": {"folder": str(tmp_path), **names, **named}})
    assert [*open_corpus(config)] == [*open_corpus(config, "development")] * 2 == [("x", "x")] * 2
    built_in = load_config(values={"data": {"corpus": "phrasebook", "phrasebook_size": 30}})
    assert list(open_corpus(built_in)) == list(zip(*phrasebook(30, "train")))
    assert list(open_corpus(built_in, "test")) == list(zip(*phrasebook(500, "test")))


@pytest.mark.parametrize(
    "data, part, name",
    [
        ({"train_source": __file__}, "train", "data.train_target"),
        ({"development_target": "x"}, "development", "data.development_source"),
        ({}, "test", "part"),
    ],
)
def test_missing_names_are_wrong_usage(data, part, name):
    with pytest.raises(UsageError, match=name):
        open_corpus(load_config(values={"data": data}), part)


@pytest.fixture
def lines():
    """4,000 pairs; every source stands three times with other targets, every 50th target is the
    same, two lines are blank.
    """
    sources = [f"sentence {number // 3}" for number in range(4000)]
    targets = ["oui" if number % 50 == 0 else f"phrase {number}" for number in range(4000)]
    targets[7] = targets[1234] = " "
    return sources, targets


def test_no_sentence_of_either_side_is_in_both_parts(write, lines):
    files = dict(train_source=write("s.gz", lines[0]), train_target=write("t", lines[1]))
    config = load_config(values={"data": {**files, "held_out": 200}})
    parts = [open_corpus(config, part) for part in ("train", "development")]
    training, development = map(list, parts)
    assert sum(part.report.empty for part in parts) == 2  # each empty line in one report
    assert 150 < len(development) < 250
    for side in (0, 1):
        assert not {pair[side] for pair in training} & {pair[side] for pair in development}
    whole = {pair for pair in zip(*lines) if pair[1] != " "}
    assert {*training, *development} <= whole
    sources, targets = ({pair[side] for pair in development} for side in (0, 1))
    lost = whole - {*training, *development}
    assert lost and all(source in sources or target in targets for source, target in lost)


def test_a_sentence_that_differs_in_white_space_or_in_composed_accents_is_the_same():
    forms = [
        "Tu plaisantes, été {} ?",
        "Tu\u00a0plaisantes, été {}  ?",
        "Tu plaisantes, e\u0301t\u00e9 {} ?",
    ]
    training, development = held_out(
        Pairs((str(3 * k + j), form.format(k)) for k in range(300) for j, form in enumerate(forms)),
        60,
    )
    numbers = [{int(source) // 3 for source, _ in part} for part in (training, development)]
    assert all(numbers) and not numbers[0] & numbers[1]


def test_every_pass_and_every_order_hold_out_the_same(lines):
    training, development = held_out(Pairs(zip(*lines)), 200)
    assert list(development) == list(development) and list(training) == list(training)
    backwards = held_out(Pairs(zip(*(side[::-1] for side in lines))), 200)[1]
    assert sorted(backwards) == sorted(development)
    some = Pairs((str(k), f"x{k}") for k in range(1000))
    held = ["30", "149", "201", "604", "660", "916"]
    assert [source for source, _ in held_out(some, 5)[1]] == held


def test_the_first_of_files_with_weights_gives_it_and_all_keep_out_of_it(write):
    """Every line of the first stands in the second too, with another one on the other side."""
    numbers = range(1000)
    first = [[f"{side} {number}" for number in numbers] for side in "ab"]
    second = [
        [*first[0], *(f"c {number}" for number in numbers)],
        [*(f"d {number}" for number in numbers), *first[1]],
    ]
    sources, targets = ([write(f"one.{k}", first[k]), write(f"two.{k}", second[k])] for k in (0, 1))
    training, development = held_out(Pairs(sources, targets, [1.0, 0.5]), 100)
    kept = list(development)
    assert 60 < len(kept) < 140 and set(kept) <= set(zip(*first))
    assert len(list(training)) == 3000 - 3 * len(kept) and training.weights == [1.0, 0.5]
    assert {*training.of_files(training.files[:1])} == {*zip(*first)} - {*kept}
    for side in (0, 1):
        assert not {pair[side] for pair in training} & {pair[side] for pair in kept}


def test_pairs_may_be_chosen_twice():
    some = Pairs((str(k), f"x{k}") for k in range(1000)).where(lambda pair: int(pair[0]) < 500)
    for part in (some.where(lambda pair: int(pair[0]) > 400), *held_out(some, 50)):
        assert max(int(source) for source, _ in part) < 500


@pytest.mark.parametrize("size, pairs, hint", [(10**6, 40, "lower"), (1, 0, "higher")])
def test_a_part_without_a_pair_is_said(size, pairs, hint):
    """A sentence that stands 40 times goes to one part whole, so one pair may be none."""
    some = [(str(k), str(k)) for k in range(pairs)] or [("same", "other")] * 40
    with pytest.raises(UserError, match=f"data.held_out: .* {hint}"):
        held_out(Pairs(some), size)
