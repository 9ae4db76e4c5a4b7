"""Training on a phrase table: each pair once, without its counts."""

import pytest
from rnnsearch_tf.config import load_config
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.data.dataset import training_dataset
from rnnsearch_tf.data.phrase_table import PhrasePairs
from rnnsearch_tf.errors import UsageError, UserError

TABLE = [
    "the house ||| la maison ||| 0.5 0.25 ||| 0-0 1-1 ||| 9 8 7 ||| |||",
    "it &apos;s ||| c&apos; est ||| 0.5 0.25",
    "the house ||| la maison ||| 0.1 0.1 ||| 0-0",
    "the ||| la ||| 0.1 0.1",
    "the house ||| maison ||| 0.1 0.1",
    "it &apos;s ||| c&apos; est ||| 1 1",
]
DISTINCT = [("the house", "la maison"), ("it 's", "c' est"), ("the", "la"), ("the house", "maison")]


@pytest.mark.parametrize("name", ["table", "table.gz"])
def test_each_distinct_pair_once_and_unescaped(write, name):
    pairs = PhrasePairs(write(name, TABLE))
    assert list(pairs) == list(pairs) == DISTINCT
    assert pairs.check().kept == 4
    assert [target for _, target in pairs] == [target for _, target in DISTINCT]


def test_the_option(write, numbers):
    table = write("numbers.gz", ["5 6 ||| 7 ||| 1", "5 6 ||| 7 ||| 1", "8 ||| 9 ||| 1"])
    config = load_config(values={"data": dict(corpus="phrase_table", phrase_table=table)})
    pairs = open_corpus(config, "train")
    batches = list(training_dataset(numbers, numbers, pairs, config.data, seed=1))
    rows = [tuple(row) for batch in batches for row in batch["source_ids"].numpy().tolist()]
    assert sorted(rows) == [(5, 6, 1), (8, 1, 0)]
    assert open_corpus(config, "development") is None
    with pytest.raises(
        UsageError, match="data.phrase_table: expected a Moses phrase table, got none"
    ):
        open_corpus(load_config(values={"data": dict(corpus="phrase_table")}), "train")


@pytest.mark.parametrize(
    "line, part",
    [
        ("a ||| b", "got 2 field(s)"),
        ("a ||| b ||| 0.5 x", "got the score 'x'"),
        (" ||| b ||| 1", "got an empty source phrase"),
        ("a |||  ||| 1", "got an empty target phrase"),
    ],
)
def test_a_bad_line_is_named_or_left_out(write, line, part):
    path = write("table", [*TABLE[:2], line, *TABLE[3:]])
    with pytest.raises(UserError) as error:
        list(PhrasePairs(path))
    assert str(error.value).startswith(
        f"{path}:3: expected `source ||| target ||| scores …`"
    ) and part in str(error.value)
    pairs = PhrasePairs(path, on_bad_line="skip")
    assert list(pairs) == DISTINCT
    assert pairs.report.skipped == pairs.report.malformed == 1
    assert "1 malformed lines" in str(pairs.report) and f"{path}:3" in pairs.report.examples[0]


def test_bytes_that_are_no_utf8(write):
    path = write("table", b"a ||| caf\xe9 ||| 1\n")
    with pytest.raises(UserError, match="table:1: expected UTF-8, got byte 0xe9"):
        list(PhrasePairs(path))
