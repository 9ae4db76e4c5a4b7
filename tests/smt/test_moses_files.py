"""Moses n-best lists and phrase tables: the model's scores, everything else byte for byte."""

import collections
import gzip
import math

import pytest

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.extras.moses import phrase_table
from rnnsearch_tf.extras.moses.nbest import read_nbest, rescored

Forced = collections.namedtuple("Forced", "log_probability unknown_words")

LINES = [
    b"0 ||| le  chat\xff ||| d= -1 0 lm= -2.5 tm_a=3 ||| -2.5 ||| 0-0 1-1 ||| |||\r\n",
    b"0 |||  |||  ||| 1e-3\n",
    b"2 ||| deux ||| lm: -1 ||| -1.25 \n",
]
TABLE = [
    b"the  house ||| la maison ||| 0.5 1e-05  ||| 0-0 1-1 ||| 9 8 7 ||| |||\r\n",
    b"a&apos;s\xff ||| un ||| 0 1\n",
    b"the  house ||| la maison ||| .5 2\n",
    b"the ||| house ||| 1 1 ||| \n",
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
    data = b"".join(lines)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("name", ["list", "list.gz"])
def test_a_list_is_read_sentence_by_sentence(tmp_path, name):
    lists = list(read_nbest(write(tmp_path / name, LINES), sentences=3))
    assert [[entry.sentence for entry in entries] for entries in lists] == [[0, 0], [2]]
    entries = [entry for each in lists for entry in each]
    assert [entry.text for entry in entries] == ["le  chat\ufffd", "", "deux"]
    assert [entry.score for entry in entries] == [-2.5, 0.001, -1.25]


def test_only_the_features_change_and_each_text_is_scored_once(tmp_path):
    model = Model()
    path = write(tmp_path / "list", [*LINES, LINES[-1]])
    first, last = rescored(model, ["x", "y", "zz"], read_nbest(path))
    assert first == [
        (
            b"0 ||| le  chat\xff ||| d= -1 0 lm= -2.5 tm_a=3 RNN= -10.000000 ||| -2.5 ||| 0-0 1-1"
            b" ||| |||\r\n"
        ),
        b"0 |||  |||  RNN= -1.000000 ||| 1e-3\n",
    ]
    assert last == [b"2 ||| deux ||| lm: -1 RNN= -6.000000 ||| -1.25 \n"] * 2
    assert model.asked == [("x", "le  chat\ufffd"), ("x", ""), ("zz", "deux")]


@pytest.mark.parametrize(
    "line, part",
    [
        (b"0 ||| a ||| lm= 1\n", "expected `id ||| text ||| features ||| score`"),
        (b"x ||| a ||| lm= 1 ||| 2\n", "expected `id ||| text ||| features ||| score`"),
        (b"0 ||| a ||| lm= 1 ||| 2\n", "in order, got 0 after 1"),
        (b"3 ||| a ||| lm= 1 ||| 2\n", "the number of a source sentence"),
    ],
)
def test_a_bad_line_of_a_list_is_named(tmp_path, line, part):
    good = [b"0 ||| a ||| lm= 1 ||| 2\n", b"1 ||| a ||| lm= 1 ||| 2\n"]
    path = write(tmp_path / "list", [*good, line])
    with pytest.raises(UserError) as error:
        list(read_nbest(path, sentences=3))
    assert str(error.value).startswith(f"{path}:3: ") and part in str(error.value)


def columns(source, target):
    return f" {math.exp(-0.5 * len(source)):.6g} {math.exp(len(target) % 3):.6g}".encode()


@pytest.mark.parametrize("at_once", [2, 100])
def test_a_table_gets_two_columns_and_nothing_else(tmp_path, monkeypatch, at_once):
    monkeypatch.setattr(phrase_table, "LINES_AT_ONCE", at_once)
    path = write(tmp_path / "table.gz", TABLE)
    house = columns("the  house", "la maison")
    assert list(phrase_table.scored(Model(), path)) == [
        b"the  house ||| la maison ||| 0.5 1e-05" + house + b" ||| 0-0 1-1 ||| 9 8 7 ||| |||\r\n",
        b"a&apos;s\xff ||| un ||| 0 1" + columns("a&apos;s\ufffd", "un") + b"\n",
        b"the  house ||| la maison ||| .5 2" + house + b"\n",
        b"the ||| house ||| 1 1" + columns("the", "house") + b" ||| \n",
    ]


def test_a_bad_line_of_a_table_is_named(tmp_path):
    path = write(tmp_path / "table", [*TABLE, b"a ||| b\n"])
    with pytest.raises(UserError, match=r"table:5: expected `source .* got 2 field\(s\)"):
        list(phrase_table.scored(Model(), path))


def test_as_many_unknown_words_as_two_long_phrases_have(tmp_path):
    """e to their number is no longer a finite number."""

    class Long:
        def score_targets(self, *_, tokenized):
            return [Forced(-1.0, 1000)]

    [line] = phrase_table.scored(Long(), write(tmp_path / "table", [b"a ||| b ||| 1\n"]))
    assert 1e300 < float(line.split()[-1]) < math.inf
