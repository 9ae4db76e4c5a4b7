"""Moses n-best lists and phrase tables: the model's scores, everything else as it was."""

import collections
import gzip
import math

import pytest

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.extras.moses import phrase_table
from rnnsearch_tf.extras.moses.nbest import read_nbest, rescored

Forced = collections.namedtuple("Forced", "log_probability unknown_words")

LINES = [
    "0 ||| le  chaté ||| d= -1 0 lm= -2.5 tm_a=3 ||| -2.5 ||| 0-0 1-1 ||| |||",
    "0 |||  |||  ||| 1e-3",
    "2 ||| deux ||| lm: -1 ||| -1.25 ",
]
TABLE = [
    "the  house ||| la maison ||| 0.5 1e-05  ||| 0-0 1-1 ||| 9 8 7 ||| |||",
    "a&apos;sé ||| un ||| 0 1",
    "the  house ||| la maison ||| .5 2",
    "the ||| house ||| 1 1 ||| ",
]


class Model:
    """Scores a pair by its number of letters."""

    def __init__(self):
        self.asked = []

    def score_targets(self, sources, targets, tokenized):
        assert tokenized
        self.asked += zip(sources, targets)
        return [Forced(-0.5 * len(s), len(t) % 3) for s, t in zip(sources, targets)]

    def score(self, sources, targets, tokenized):
        self.asked += zip(sources, targets)
        return [-float(len(source) + len(target)) for source, target in zip(sources, targets)]


def write(path, lines):
    data = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def lines(batches):
    return [line for batch in batches for line in batch]


@pytest.mark.parametrize("name", ["list", "list.gz"])
def test_a_list_is_read_sentence_by_sentence(tmp_path, name):
    lists = list(read_nbest(write(tmp_path / name, LINES), sentences=3))
    assert [[entry.sentence for entry in entries] for entries in lists] == [[0, 0], [2]]
    entries = [entry for each in lists for entry in each]
    assert [entry.text for entry in entries] == ["le  chaté", "", "deux"]
    assert [entry.score for entry in entries] == [-2.5, 0.001, -1.25]


def test_only_the_features_change_and_each_text_is_scored_once(tmp_path):
    model = Model()
    path = write(tmp_path / "list", [*LINES, LINES[-1]])
    first, last = rescored(model, ["x", "y", "zz"], read_nbest(path))
    assert first == [
        (
            "0 ||| le  chaté ||| d= -1 0 lm= -2.5 tm_a=3 RNN= -10.000000 ||| -2.5 ||| 0-0 1-1"
            " ||| |||"
        ),
        "0 |||  |||  RNN= -1.000000 ||| 1e-3",
    ]
    assert last == ["2 ||| deux ||| lm: -1 RNN= -6.000000 ||| -1.25 "] * 2
    assert model.asked == [("x", "le  chaté"), ("x", ""), ("zz", "deux")]


@pytest.mark.parametrize(
    "line, part",
    [
        ("0 ||| a ||| lm= 1", "expected `id ||| text ||| features ||| score`"),
        ("x ||| a ||| lm= 1 ||| 2", "expected `id ||| text ||| features ||| score`"),
        ("0 ||| a ||| lm= 1 ||| 2", "in order, got 0 after 1"),
        ("3 ||| a ||| lm= 1 ||| 2", "the number of a source sentence"),
    ],
)
def test_a_bad_line_of_a_list_is_named(tmp_path, line, part):
    good = ["0 ||| a ||| lm= 1 ||| 2", "1 ||| a ||| lm= 1 ||| 2"]
    path = write(tmp_path / "list", [*good, line])
    with pytest.raises(UserError) as error:
        list(read_nbest(path, sentences=3))
    assert str(error.value).startswith(f"{path}:3: ") and part in str(error.value)


def columns(source, target):
    return f" {math.exp(-0.5 * len(source)):.6g} {math.exp(len(target) % 3):.6g}"


@pytest.mark.parametrize("at_once", [2, 100])
def test_a_table_gets_two_columns_and_nothing_else(tmp_path, monkeypatch, at_once):
    monkeypatch.setattr(phrase_table, "LINES_AT_ONCE", at_once)
    path = write(tmp_path / "table.gz", TABLE)
    house = columns("the  house", "la maison")
    assert lines(phrase_table.scored(Model(), path)) == [
        "the  house ||| la maison ||| 0.5 1e-05" + house + " ||| 0-0 1-1 ||| 9 8 7 ||| |||",
        "a&apos;sé ||| un ||| 0 1" + columns("a&apos;sé", "un") + "",
        "the  house ||| la maison ||| .5 2" + house + "",
        "the ||| house ||| 1 1" + columns("the", "house") + " ||| ",
    ]


def test_a_bad_line_of_a_table_is_named(tmp_path):
    path = write(tmp_path / "table", [*TABLE, "a ||| b"])
    with pytest.raises(UserError, match=r"table:5: expected `source .* got 2 field\(s\)"):
        list(phrase_table.scored(Model(), path))
