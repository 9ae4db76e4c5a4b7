"""Phrase tables: every distinct pair scored once, everything else byte for byte."""

import collections
import gzip
import math
import tracemalloc

import pytest
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.extras.moses import phrase_table
from rnnsearch_tf.extras.moses.phrase_table import PhraseTable, moses_ini_line

Forced = collections.namedtuple("Forced", "log_probability unknown_words")

TABLE = [
    b"the  house ||| la maison ||| 0.5 1e-05  ||| 0-0 1-1 ||| 9 8 7 ||| |||\r\n",
    b"a&apos;s\xff ||| un ||| 0 1\n",
    b"the  house ||| la maison ||| .5 2\n",
    b"the ||| house ||| 1 1 ||| \n",
    b"a&apos;s\xff ||| un ||| 7 7 ||| 0-0\n",
]


class Model:
    """Scores a pair by its number of letters, and keeps what it was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, sources, targets):
        self.asked += zip(sources, targets)
        return [
            Forced(-0.5 * len(source), len(target) % 3) for source, target in zip(sources, targets)
        ]


def write(path, lines):
    data = b"".join(lines)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def columns(source, target):
    return f" {math.exp(-0.5 * len(source)):.6g} {math.exp(len(target) % 3):.6g}".encode()


@pytest.mark.parametrize("name", ["table", "table.gz"])
@pytest.mark.parametrize("at_once", [1, 2, 3, 100])
def test_two_columns_and_nothing_else(tmp_path, monkeypatch, name, at_once):
    monkeypatch.setattr(phrase_table, "LINES_AT_ONCE", at_once)
    model = Model()
    table = PhraseTable(write(tmp_path / name, TABLE))
    house = columns("the  house", "la maison")
    escaped = columns("a&apos;s\ufffd", "un")
    assert list(table.scored(model)) == [
        b"the  house ||| la maison ||| 0.5 1e-05" + house + b" ||| 0-0 1-1 ||| 9 8 7 ||| |||\r\n",
        b"a&apos;s\xff ||| un ||| 0 1" + escaped + b"\n",
        b"the  house ||| la maison ||| .5 2" + house + b"\n",
        b"the ||| house ||| 1 1" + columns("the", "house") + b" ||| \n",
        b"a&apos;s\xff ||| un ||| 7 7" + escaped + b" ||| 0-0\n",
    ]
    assert sorted(model.asked) == [
        ("a&apos;s\ufffd", "un"),
        ("the", "house"),
        ("the  house", "la maison"),
    ]
    assert (table.lines, table.scores) == (5, 2)


@pytest.mark.parametrize(
    "line, part",
    [
        (b"a ||| b\n", "expected `source ||| target ||| scores …`, got 2 field(s)"),
        (b"a ||| b ||| 1 2 3\n", "expected 2 scores, as in line 1, got 3"),
        (b"a ||| b ||| 1 nan\n", "got the score 'nan'"),
        (b" ||| b ||| 1 2\n", "got an empty source phrase"),
    ],
)
def test_a_bad_line_is_named_before_anything_is_scored(tmp_path, line, part):
    path = write(tmp_path / "table", [*TABLE, line])
    with pytest.raises(UserError) as error:
        PhraseTable(path)
    assert str(error.value).startswith(f"{path}:6: ") and part in str(error.value)


def test_tables_without_an_end_or_without_a_line(tmp_path):
    data = gzip.compress(b"".join(b"a%d ||| b%d ||| 1\n" % (n * n, n) for n in range(9000)))
    (tmp_path / "cut.gz").write_bytes(data[:-2000])
    with pytest.raises(UserError, match=r"cut\.gz:\d{4}: expected more gzip data"):
        PhraseTable(tmp_path / "cut.gz")
    with pytest.raises(UserError, match="expected a phrase table, got an empty file"):
        PhraseTable(write(tmp_path / "empty", []))


@pytest.mark.slow
def test_memory_grows_by_bytes_a_line(tmp_path):
    """Pairs that do not come again are not remembered: that would take hundreds of bytes a line."""

    def score(sources, targets):
        return [Forced(-1.0, 0)] * len(sources)

    def peak(lines):
        path = tmp_path / f"{lines}.gz"
        with gzip.open(path, "wb", compresslevel=1) as file:
            file.writelines(
                b"phrase number %d ||| Satzteil Nummer %d ||| 0.5 0.5 ||| 0-0 1-1\n" % (n, n)
                for n in range(lines)
            )
        tracemalloc.start()
        assert sum(1 for _ in PhraseTable(path).scored(score)) == lines
        result = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return result

    assert peak(50_000) - peak(20_000) < 100 * 30_000


def test_as_many_unknown_words_as_two_long_phrases_have(tmp_path):
    """e to their number is no longer a finite number."""
    path = write(tmp_path / "table", [b"a ||| b ||| 1\n"])

    def score(*phrases):
        return [Forced(-1.0, 1000)]

    [line] = PhraseTable(path).scored(score)
    assert math.isfinite(float(line.split()[-1])) and float(line.split()[-1]) > 1e300


def test_the_line_of_moses_ini():
    assert (
        moses_ini_line("/x/t.gz", 6)
        == "PhraseDictionaryMemory name=TranslationModel0 num-features=6 path=/x/t.gz"
        " input-factor=0 output-factor=0"
    )
