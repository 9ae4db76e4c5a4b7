"""Texts that are columns of tables, compared with what other programs wrote into them."""

import bz2
import csv
import gzip
import json
import lzma
import os
import tracemalloc

import pandas
import pytest
from backports import zstd

from rnnsearch_tf.data.links import LinkedPairs
from rnnsearch_tf.data.pairs import Pairs
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files import tables
from rnnsearch_tf.files.reading import count_lines, read_all, read_bytes, read_lines

PAIRS = [
    ("I'm home.", "Je suis à la maison."),
    ('He said "no", twice.', "Il a dit « non », deux fois."),
    ("one, two; three", "un, deux ; trois"),
    ("two\nlines", "deux\r\nlignes"),
    ("a < b & c", "\u2028"),
]
ONE_LINE = [tuple(" ".join(text.splitlines()) for text in pair) for pair in PAIRS[:4]]
ONE_LINE.append(PAIRS[4])
FRAME = pandas.DataFrame(PAIRS, columns=["en", "fr"])

TMX = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header creationtool="x" segtype="sentence"/><body>
<tu><tuv xml:lang="en-US">
<seg>Press <bpt i="1">&lt;b&gt;</bpt>OK<ept i="1">&lt;/b&gt;</ept> <hi>now</hi>.</seg></tuv>
<tuv xml:lang="fr"><seg>Appuyez sur OK.</seg></tuv></tu>
<tu><note>no text</note><tuv lang="FR"><prop>x</prop><seg>Un chat &amp; un chien</seg></tuv>
<tuv lang="EN-us"><seg>A cat &amp; a dog</seg></tuv><tuv lang="de"><seg>Ein Hund</seg></tuv></tu>
<tu><tuv xml:lang="en-GB"><seg>colour</seg></tuv></tu>
</body></tmx>
"""


def written(path, kind):
    """A table with PAIRS."""
    if kind == "tsv":  # as of manythings.org and Tatoeba: no quotation marks, no line breaks
        rows = [f"{number}\t{en}\t{fr}\tCC-BY 2.0" for number, (en, fr) in enumerate(ONE_LINE)]
        path.write_text("\r\n".join(rows), encoding="utf-8", newline="")
    elif kind == "csv":
        FRAME.to_csv(path, index_label="id")
    elif kind == "semicolons":
        FRAME.to_csv(path, sep=";", index=False, quoting=csv.QUOTE_ALL)
    elif kind == "jsonl":
        FRAME.to_json(path, orient="records", lines=True)
    elif kind == "translations":
        with open(path, "w", encoding="utf-8") as file:
            for number, (en, fr) in enumerate(PAIRS):
                record = {"id": number, "translation": {"en": en, "fr": fr}}
                print(json.dumps(record, ensure_ascii=False), file=file)
    return str(path)


KINDS = {
    "tsv": ("2,3", tables.TSV),
    "csv": (None, tables.CSV),
    "semicolons": (None, tables.SEMICOLONS),
    "jsonl": (None, tables.JSON_LINES),
    "translations": (None, tables.JSON_LINES),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_has_the_pairs_that_were_written(tmp_path, kind):
    columns, name = KINDS[kind]
    path = written(tmp_path / "table", kind)
    table = tables.look(path)
    assert table.kind == name
    source, target = table.pair(columns)
    assert (source, target) == table.pair()  # found by looking
    assert list(zip(read_all(source), read_all(target))) == ONE_LINE
    assert count_lines([source, target]) == 2 * len(PAIRS)
    skipping = Pairs(source, target, "skip")
    assert list(skipping) == ONE_LINE[:4]  # the last target has no text
    assert skipping.report.examples == [
        f"{target}:5: expected a sentence, got an empty line",
    ]
    assert list(Pairs(path, on_bad_line="skip")) == ONE_LINE[:4]


def test_columns_by_name_and_by_number(tmp_path):
    path = written(tmp_path / "t.csv", "csv")
    table = tables.look(path)
    assert list(table.columns) == ["id", "en", "fr"] and list(table.texts) == ["en", "fr"]
    assert table.pair("fr, en") == (f"{path}#fr", f"{path}#en")
    assert read_all(f"{path}#3") == read_all(f"{path}#fr") == [fr for _, fr in ONE_LINE]
    unnamed = written(tmp_path / "t.tsv", "tsv")
    assert tables.look(unnamed).pair("3,2") == (f"{unnamed}#3", f"{unnamed}#2")
    for given in ("1", "1,2,3", "en,de", "0,1", "4,5", "2,2", "en,2"):
        with pytest.raises(UsageError, match="--columns: expected .* its columns are id, en, fr"):
            table.pair(given)
    with pytest.raises(UserError, match="t.tsv: expected a column 9, got at most 4"):
        read_all(f"{unnamed}#9")
    with pytest.raises(UserError, match="t.tsv: expected a column called fr, got numbers from 1"):
        read_all(f"{unnamed}#fr")
    (tmp_path / "own.csv").write_text("number,English,French\n1,a,b\n")
    own = tables.look(tmp_path / "own.csv")
    assert own.pair("English,French") == tuple(f"{own.path}#{name}" for name in own.first[1:])
    assert list(Pairs(*own.pair("French,English"))) == [("b", "a")]
    with pytest.raises(UsageError, match="expected columns of .*own.csv, got 'French'"):
        own.pair("2,French")
    (tmp_path / "many.jsonl").write_text('{"a": "x", "b": "y", "c": "z"}\n')
    with pytest.raises(UsageError, match="many.jsonl: expected a column of source text and one of"):
        tables.look(tmp_path / "many.jsonl").pair()
    slashes = tmp_path / "slashes.jsonl"
    slashes.write_text('{"text/en": "x", "text/fr": "y"}\n')
    assert list(Pairs(*tables.look(slashes).pair("text/fr,text/en"))) == [("y", "x")]


def test_tmx(tmp_path):
    path = tmp_path / "memory.tmx"
    path.write_text(TMX, encoding="utf-8")
    table = tables.look(path)
    assert (table.kind, list(table.columns)) == (tables.TMX, ["en-us", "fr", "de", "en-gb"])
    assert read_all(f"{path}#en-US") == ["Press OK now.", "A cat & a dog", ""]
    assert read_all(f"{path}#en") == ["Press OK now.", "A cat & a dog", "colour"]
    assert read_all(f"{path}#fr") == ["Appuyez sur OK.", "Un chat & un chien", ""]
    assert len(Pairs(f"{path}#fr", f"{path}#en-us", "skip")) == 2
    assert table.pair("en-US,FR") == (f"{path}#en-us", f"{path}#fr")
    assert table.pair("de,en") == (f"{path}#de", f"{path}#en")
    for given in ("de,DE", "en,en-GB", "en,it"):
        with pytest.raises(UsageError, match="--columns: expected .* its columns are en-us, fr, d"):
            table.pair(given)
    with pytest.raises(UserError, match="segments in the language it, got none; its languages are"):
        read_all(f"{path}#it")
    path.write_text(TMX[: len(TMX) // 2], encoding="utf-8")
    with pytest.raises(UserError, match="memory.tmx: expected TMX, got malformed XML"):
        read_all(f"{path}#fr")


def test_tmx_in_utf_16(tmp_path):
    path = tmp_path / "memory.tmx"
    path.write_text(TMX.replace("UTF-8", "UTF-16"), encoding="utf-16")
    assert tables.look(path).pair("en,fr") == (f"{path}#en", f"{path}#fr")
    assert read_all(f"{path}#fr") == ["Appuyez sur OK.", "Un chat & un chien", ""]


@pytest.mark.parametrize("encoding", ["Shift_JIS", "no-such-encoding"])
def test_tmx_in_an_encoding_that_the_parser_does_not_read(tmp_path, encoding):
    path = tmp_path / "memory.tmx"
    path.write_text(TMX.replace("UTF-8", encoding))
    with pytest.raises(
        UserError, match="memory.tmx: expected TMX, got .*; export it again, in UTF"
    ):
        tables.look(path)


def test_a_large_tmx_is_not_held_in_memory(tmp_path):
    head, unit, _ = TMX.partition('<tu><tuv xml:lang="en-US">')
    path = tmp_path / "memory.tmx"
    path.write_text(head + 5_000 * (unit + "<seg>a</seg></tuv></tu>") + "</body></tmx>")
    tracemalloc.start()
    try:
        assert sum(line == "a" for line in read_lines(f"{path}#en")) == 5_000
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_json_records_may_lack_a_column(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('\n{"en": "a", "fr": null}\n{"fr": "b"}\n{"en": "c", "fr": "d"}\n')
    assert tables.look(path).pair() == (f"{path}#en", f"{path}#fr")
    assert read_all(f"{path}#en") == ["", "a", "", "c"]
    assert read_all(f"{path}#fr") == ["", "", "b", "d"]


@pytest.mark.parametrize(
    "first", [("", "oui, monsieur"), ("oui, monsieur", ""), ("{name}", "{nom}")], ids=str
)
def test_the_first_row_may_lack_a_cell_or_begin_with_a_brace(tmp_path, first):
    path = tmp_path / "t.tsv"
    path.write_text("\t".join(first) + "\nyes\toui\n")
    assert tables.look(path).kind == tables.TSV
    assert [read_all(f"{path}#{column}") for column in (1, 2)] == [
        [first[0], "yes"],
        [first[1], "oui"],
    ]


@pytest.mark.parametrize(
    "content, pair",
    [
        ("Oui, madame, oui;Yes, madam\nNon;No\n1;2\n", ("Oui, madame, oui", "Yes, madam")),
        ("Oui, a;Yes, a, b\nNon, b;No, b\nNon;No\n", ("Oui, a", "Yes, a, b")),
        ("Oui; non; si,Yes\nNon,No\n1,2\n", ("Oui; non; si", "Yes")),
        # a cell with a line break at the end of the lines that are looked at
        (
            '"two\nlines, one",b\n' + "c,d\n" * (tables.LOOKED_AT - 3) + '"e\nf",g\n',
            ("two lines, one", "b"),
        ),
        ("one,only\nthis\nand,that\n", ("one", "only")),
    ],
)
def test_the_rows_tell_what_separates_the_cells(tmp_path, content, pair):
    path = tmp_path / "t.csv"
    path.write_text(content)
    assert tuple(read_all(f"{path}#{column}")[0] for column in (1, 2)) == pair


def test_a_quotation_mark_that_nothing_closes_swallows_no_rows(tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"Yes {number},Oui {number}\n" for number in range(300)]
    for end in ("", 'No,"Non"\n'):
        path.write_text("".join([*rows, 'Yes,"Oui\n', *rows, end]))
        with pytest.raises(UserError, match=r"t.csv:301: .*quotation mark that nothing closes"):
            read_all(f"{path}#2")


@pytest.mark.parametrize(
    "content, problem",
    [
        (
            "en,fr\nYes,Oui\nHello, my friend,Bonjour, mon ami\n",
            "row 3: .* 2 values .*, got 4; put",
        ),
        ("Yes;Oui\nOne; two;Un, deux\n", "row 2: .* 2 values separated by ';', .*, got 3; put"),
        ("en\tfr\nYes\tOui\tindeed\n", "row 2: .* 2 values .*, got 3; replace tabs"),
        ('en,fr\n"Two\nlines",Deux\na,b,c\n', "row 3: expected at most 2 values"),
    ],
)
def test_a_sentence_is_not_cut_at_its_first_comma(tmp_path, content, problem):
    path = tmp_path / "t"
    path.write_text(content)
    for read in (tables.look, lambda path: read_all(f"{path}#1")):
        with pytest.raises(UserError, match=f"t: {problem}"):
            read(path)


def test_rows_between_tabs_without_names_may_have_a_note(tmp_path):
    (tmp_path / "t").write_text("Yes\tOui\nNo\tNon\ta note\n")
    assert list(Pairs(tmp_path / "t")) == [("Yes", "Oui"), ("No", "Non")]


def test_a_space_before_a_quotation_mark_is_no_text(tmp_path):
    (tmp_path / "t").write_text('"Hello, you", "Bonjour, toi"\n"Yes",  Oui\n')
    assert list(Pairs(tmp_path / "t")) == [("Hello, you", "Bonjour, toi"), ("Yes", "Oui")]


def test_numbers_under_a_name_are_no_text(tmp_path):
    (tmp_path / "t").write_text("id\tenglish\tfrench\n1\tYes\tOui\n")
    table = tables.look(tmp_path / "t")
    assert (list(table.texts), table.pair()) == (["2", "3"], (f"{table.path}#2", f"{table.path}#3"))


@pytest.mark.parametrize("names", ["Source,Target", "EN,FR", "en,cy", "TEXT,Translation"])
def test_names_of_columns_are_no_pair(tmp_path, names):
    (tmp_path / "t").write_text(f"{names}\nNo,Non\n")
    assert list(Pairs(tmp_path / "t")) == [("No", "Non")]


def test_two_words_that_are_also_codes_of_languages_are_a_pair(tmp_path):
    (tmp_path / "t").write_text("No,No\nYes,Sí\n")
    assert list(Pairs(tmp_path / "t")) == [("No", "No"), ("Yes", "Sí")]


def test_two_columns_of_one_name_have_numbers(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("text,text\na cat,un chat\n")
    assert list(Pairs(*tables.look(path).pair())) == [("a cat", "un chat")]


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, zstd.compress])
def test_a_compressed_table(tmp_path, compress):
    for kind in ("csv", "translations"):
        plain = written(tmp_path / kind, kind)
        packed = tmp_path / f"{kind}.packed"
        packed.write_bytes(compress((tmp_path / kind).read_bytes()))
        assert list(Pairs(packed, on_bad_line="skip")) == list(Pairs(plain, on_bad_line="skip"))
    packed.write_bytes(compress(TMX.encode()))
    assert read_all(f"{packed}#fr")[0] == "Appuyez sur OK."


def test_a_saved_data_set(tmp_path):
    datasets = pytest.importorskip("datasets")
    rows = [{"translation": {"en": en, "fr": fr}, "id": 1} for en, fr in PAIRS]
    data = datasets.Dataset.from_list(rows)
    datasets.DatasetDict({"train": data, "test": data}).save_to_disk(tmp_path / "saved")
    with pytest.raises(UserError, match="expected one data set, got a folder of several: train, t"):
        tables.look(tmp_path / "saved")
    path = tmp_path / "saved" / "train"
    source, target = tables.look(path).pair()
    assert source == f"{path}#translation.en"
    assert list(zip(read_all(source), read_all(target))) == ONE_LINE
    rows = [row for row, pair in zip(rows, PAIRS) if pair[1].strip()]
    kept = datasets.Dataset.from_list(rows).remove_columns("id")
    assert list(Pairs(kept)) == [pair for pair in PAIRS if pair[1].strip()]  # held in memory
    with pytest.raises(UserError, match="expected a folder that datasets.Dataset.save_to_disk"):
        tables.look(tmp_path)


@pytest.mark.parametrize(
    "content, problem",
    [
        (b'{"en": "a"}\n{"en": \n', "t#en:2: expected a JSON object, got"),
        (b'{"en": "a"}\n[1]\n', "t#en:2: expected a JSON object, got '\\[1\\]'"),
        (b'{"en": "a"}\n{"en": 3}\n', "t#en:2: expected text under en, got int"),
        (b'{"en": "a"}\n' + b'{"en":' * 50_000, "t#en:2: expected a JSON object, got"),
        (b'{"fr": "a"}\n', "t: expected a column called en, got fr"),
        (b"one\ntwo\n", "t: expected a table with the column en, got plain text"),
        (b"", "t: expected a table with the column en, got plain text"),
        (b"x" * 200_000, "t: expected a table with the column en, got plain text"),
        (b'[{"en": "a"},' + b" " * 200_000 + b"]", "t: expected JSON lines, one object in each"),
        (b'[\n{"en": "a"}\n]', "t: expected JSON lines, one object in each, got a JSON list"),
        (b"en,fr\ra,b\r", "t: expected lines that end with a line feed, got carriage returns al"),
        (b"en\tfr\ra\tb", "t: expected lines that end with a line feed, got carriage returns al"),
        (b"en,fr\na\rb,c\n", "t:2: expected values .*; end the lines with line feeds"),
        (
            b'a,en\n1,"' + b"x\n" * 600_000,
            "t:[0-9]+: expected values separated by ',', got: field l",
        ),
    ],
)
def test_a_malformed_table_is_an_error_that_names_the_place(tmp_path, content, problem):
    (tmp_path / "t").write_bytes(content)
    with pytest.raises(UserError, match=problem.replace("t#en", "t")):
        read_all(f"{tmp_path / 't'}#en")


def test_a_pipe_is_no_text_of_several_passes(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "other").write_text("a\n")
    for read in (
        lambda: tables.look(pipe),
        lambda: read_all(f"{pipe}#1"),
        lambda: Pairs(pipe, tmp_path / "other"),
        lambda: list(Pairs(f"{pipe}#1", f"{pipe}#2")),
        lambda: LinkedPairs(Pairs(["a"], ["b"]), pipe),
    ):
        with pytest.raises(UserError, match="expected a file, which is read several times, got a"):
            read()


def test_bytes_that_are_no_utf_8_stay_a_bad_line(tmp_path):
    (tmp_path / "t").write_bytes(b"en,fr\ncaf\xe9,x\na,b\n")
    pairs = Pairs(f"{tmp_path / 't'}#en", f"{tmp_path / 't'}#fr", "skip")
    assert list(pairs) == [("a", "b")] and pairs.report.invalid == 1


def test_the_last_column_of_a_windows_file(tmp_path):
    (tmp_path / "t").write_bytes("".join(f"{n}\tline {n}\r\n" for n in range(3)).encode())
    assert read_all(f"{tmp_path / 't'}#2") == [f"line {n}" for n in range(3)]


def test_a_file_whose_name_has_the_mark_is_a_text(tmp_path):
    (tmp_path / "c#").write_text("one\n")
    (tmp_path / "c#1").write_text("two\n")
    assert read_all(tmp_path / "c#") == ["one"] and read_all(tmp_path / "c#1") == ["two"]
    with pytest.raises(UserError, match="missing.tsv: expected a text file, found none"):
        read_all(tmp_path / "missing.tsv#1")


def test_a_long_column_is_streamed(tmp_path):
    (tmp_path / "t").write_text("".join(f"{n}\tline {n}\n" for n in range(5000)))
    assert list(read_bytes(f"{tmp_path / 't'}#2")) == [f"line {n}".encode() for n in range(5000)]
