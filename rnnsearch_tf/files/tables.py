"""Columns of tables as texts: `fra.txt#2`, `corpus.csv#fr`, `corpus.jsonl#translation.fr`,
`memory.tmx#fr`.

A table is a file of tab-separated values, of comma- or semicolon-separated values, of JSON lines or
of TMX, plain or compressed, or a folder that ``datasets.Dataset.save_to_disk`` wrote. Its content
tells which. Row k of a column is line k of the text: a line break in a cell becomes a space, an
empty or missing cell an empty line.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import dataclasses
import itertools
import json
import os
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rnnsearch_tf.errors import UsageError, UserError, one_line
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.streams import CHUNK, check_readable_again, line_batches, opened

TSV = "tab-separated values"
CSV = "comma-separated values"
SEMICOLONS = "semicolon-separated values"
JSON_LINES = "JSON lines"
TMX = "TMX"
DATASET = "a data set of Hugging Face"
PLAIN = "plain text"

DELIMITERS = {TSV: "\t", CSV: ",", SEMICOLONS: ";"}

LOOKED_AT = 200
"""Rows that tell the kind and the columns of a table."""

MOSTLY = 0.95
"""Share of the lines with tabs from which a text is taken for a table."""

FEWEST = 10
"""Lines with tabs that this needs."""

LANGUAGES = frozenset(
    "af am ar az be bg bn br bs ca cs cy da de el en eo es et eu fa fi fo fr fy ga gd gl gu ha he"
    " hi hr ht hu hy id ig is it ja ka kk km kn ko ku ky lb lo lt lv mg mi mk ml mn mr ms mt my nb"
    " ne nl nn no oc pa pl ps pt ro ru rw si sk sl so sq sr sv sw ta te tg th tk tl tr tt ug uk ur"
    " uz vi xh yi yo zh zu".split()
)
"""Codes by which the first row is taken for names of columns."""

SIDE_NAMES = (("source", "target"), ("src", "tgt"), ("src", "trg"))
"""Names of columns by which the two sides are recognized."""

_WORDS = {*itertools.chain(*SIDE_NAMES), "sentence", "text", "translation"}
_NAMES = LANGUAGES | _WORDS
_NAMES |= {name.upper() for name in _NAMES} | {word.title() for word in _WORDS}  # No is a sentence
_LINES = 1024  # lines read at once

_line_breaks = re.compile(rb"\r\n|\n|\r")


@dataclasses.dataclass(frozen=True)
class Table:
    """What the first rows of a table show.

    Attributes:
        path: of the file or folder.
        kind: TSV, CSV, SEMICOLONS, JSON_LINES, TMX or DATASET.
        columns: names of the columns, or their numbers from 1 where they have no names.
        texts: those of the columns that hold text, not only numbers.
        first: cells of the first row, if none is a known name; they may be names all the same.
    """

    path: str
    kind: str
    columns: Sequence[str]
    texts: Sequence[str]
    first: Sequence[str] = ()

    def pair(self, columns: str | None = None) -> tuple[str, str]:
        """The two sides as texts, such as ("fra.txt#1", "fra.txt#2").

        Args:
            columns: two names or numbers with a comma, such as "1,2" or "en,fr"; None: the columns
                called source and target, or the only two that hold text; in values without names,
                the first two that hold text.

        Raises:
            UsageError: there is no such column, or it is not clear which.
        """
        found = f"its columns are {', '.join(self.columns)}"
        if columns is not None:
            chosen = [column.strip() for column in columns.split(",")]
            if len(chosen) != 2:
                raise UsageError(
                    f"--columns: expected two columns, such as {','.join(self.texts[:2])}, got"
                    f" {columns!r}; {found}"
                )
            if self.kind == TMX:
                chosen = [column.lower() for column in chosen]
            places = self._places(self.first if {*chosen} <= {*self.first} else self.columns)
            for column in chosen:
                if column not in places:
                    raise UsageError(
                        f"--columns: expected columns of {self.path}, got {column!r}; {found}"
                    )
            if places[chosen[0]] == places[chosen[1]]:
                raise UsageError(
                    f"--columns: expected two columns, got one twice in {columns!r}; {found}"
                )
        else:
            chosen = self._sides()
            if not chosen:
                raise UsageError(
                    f"{self.path}: expected a column of source text and one of target text, got"
                    f" {len(self.texts)} with text; {found}; name two with --columns"
                )
        return f"{self.path}#{chosen[0]}", f"{self.path}#{chosen[1]}"

    def _places(self, names: Sequence[str]) -> dict[str, int]:
        """{column: its place from 0}, by name, by number, and, in TMX, by language alone."""
        places = {name: place for place, name in enumerate(names)}
        if self.kind in DELIMITERS:
            places |= {str(place + 1): place for place in range(len(self.columns))}
        if self.kind == TMX:
            places = {name.partition("-")[0]: place for name, place in places.items()} | places
        return places

    def _sides(self) -> list[str]:
        """The columns of source and target; empty if it is not clear which."""
        for pair in SIDE_NAMES:
            if {*pair} <= {*self.texts}:
                return [*pair]
        unnamed = self.kind in DELIMITERS and all(column.isdigit() for column in self.columns)
        if len(self.texts) == 2 or (unnamed and len(self.texts) > 2):
            return [*self.texts[:2]]
        return []

    def __str__(self) -> str:
        return f"{self.path}: {self.kind}, {len(self.columns)} columns: {', '.join(self.columns)}"


def split(name: AnyPath) -> tuple[str, str | None]:
    """(file, column) of a text; the column is None for a file that is no table.

    Example:
        >>> split("fra.txt#2"), split("train.fr")
        (('fra.txt', '2'), ('train.fr', None))
    """
    name = os.fspath(name)
    path, mark, column = name.rpartition("#")
    if not mark or not path or not column or os.path.exists(name):
        return name, None
    if "/" in column and not os.path.isfile(path):  # a folder whose name has the mark
        return name, None
    return path, column


def is_column(name: AnyPath) -> bool:
    """Whether a text is a column of a table."""
    return split(name)[1] is not None


def column_batches(name: AnyPath, size: int) -> Iterator[list[bytes]]:
    """Yield lists of 1 to `size` cells of a column, such as ``fra.txt#2``, as bytes.

    Raises:
        UserError: the table cannot be read, has no such column, or a row is malformed.
    """
    path, column = split(name)
    assert column is not None
    kind = kind_of(path)
    if kind in DELIMITERS:
        cells = _delimited(path, column, DELIMITERS[kind])
    elif kind == TMX:
        cells = _tmx(path, column)
    elif kind == DATASET:
        cells = _nested(_dataset_rows(path), path, column)
    elif kind == JSON_LINES:
        cells = _nested(_json_rows(path), path, column)
    else:
        raise UserError(
            f"{path}: expected a table with the column {column}, got plain text; name the file"
            " without #"
        )
    lines = (_line_breaks.sub(b" ", cell) for cell in cells)
    while batch := list(itertools.islice(lines, size)):
        yield batch


def look(path: AnyPath) -> Table:
    """Look at the first rows of a table.

    Raises:
        UserError: it is missing, is no table, or its first rows are malformed.
    """
    path = os.fspath(path)
    kind = kind_of(path)
    if kind == PLAIN:
        raise UserError(
            f"{path}: expected a table (.tsv, .csv, JSON lines, TMX, a saved data set), got plain"
            " text in one column; for a text and its translation in two files, use --source and"
            " --target"
        )
    if kind in DELIMITERS:
        rows = list(itertools.islice(_delimited_rows(path, DELIMITERS[kind]), LOOKED_AT))
        width = max(map(len, rows))
        header = _is_header(rows[0])
        names = [*map(_text, rows[0])] if header else []
        columns = [
            names[place] if names[place:] and names.count(names[place]) == 1 else str(place + 1)
            for place in range(width)
        ]
        texts = [
            column
            for place, column in enumerate(columns)
            if any(_has_words(row[place]) for row in rows[1:] or rows if place < len(row))
        ]
        return Table(path, kind, columns, texts, () if header else [*map(_text, rows[0])])
    if kind == TMX:
        units = itertools.islice(_tmx_units(path), LOOKED_AT)
        columns = list(dict.fromkeys(language for unit in units for language in unit))
        return Table(path, kind, columns, columns)
    cells = _first_cells(_json_rows(path) if kind == JSON_LINES else _dataset_rows(path))
    return Table(path, kind, [*cells], [name for name, is_text in cells.items() if is_text])


def kind_of(path: str) -> str:
    """The kind of a file, by its first bytes: a kind of table, or PLAIN.

    Raises:
        UserError: it cannot be read, or is a pipe, whose first lines would be lost.
    """
    check_readable_again(path)
    if os.path.isdir(path):
        return DATASET
    if _is_tmx(path):
        return TMX
    lines = next(line_batches(path, LOOKED_AT, cut=True), [])
    begin = b"\n".join(lines[:50]).lstrip()
    if re.match(rb'\{\s*["}]', begin):  # {name} is text of a program
        return JSON_LINES
    if re.match(rb"\[\s*\{", begin):
        raise UserError(
            f"{path}: expected JSON lines, one object in each, got a JSON list; convert it, for"
            f" example with jq -c '.[]' {path} > pairs.jsonl"
        )
    if len(lines) == 1 and b"\r" in lines[0].strip(b"\r"):
        raise UserError(
            f"{path}: expected lines that end with a line feed, got carriage returns alone; convert"
            f" it: tr '\\r' '\\n' < {path} > text"
        )
    if lines and b"\t" in lines[0]:
        return TSV
    # best: every row has several cells; then, all have equally many; then, the first has most
    widths = {kind: _widths(lines, DELIMITERS[kind]) for kind in (CSV, SEMICOLONS)}
    fits = {
        kind: (min(found) > 1, -len({*found}), found[0])
        for kind, found in widths.items()
        if found[0] > 1
    }
    return max(fits, key=fits.__getitem__, default=PLAIN)


def _widths(lines: Sequence[bytes], delimiter: str) -> list[int]:
    """The numbers of cells of the first rows, except the last, which may be cut off."""
    widths: list[int] = []
    texts = (line.decode("utf-8", "replace") + "\n" for line in lines)
    with contextlib.suppress(csv.Error):  # a cell that is too long, or has a carriage return
        for row in csv.reader(texts, delimiter=delimiter, skipinitialspace=True):
            widths.append(len(row))
    return widths[:-1] or widths or [0]


def check_sentences(path: AnyPath, lines: Sequence[bytes]) -> None:
    """Raise UserError if the first lines of a text are the rows of a table, not sentences: nearly
    all have tabs, and it is no column of a table.
    """
    tabs = sum(b"\t" in line.strip() for line in lines)
    if tabs >= max(FEWEST, MOSTLY * len(lines)) and not is_column(path):
        raise UserError(
            f"{path}: expected a sentence in each line, got tabs in {tabs} of the first"
            f" {len(lines)} lines; it is a table: use --pairs {path} --columns 1,2 or name a"
            f" column as {path}#1, or cut it: cut -f1 {path} > text.source; cut -f2 {path} >"
            " text.target"
        )


def _delimited(path: str, column: str, delimiter: str) -> Iterator[bytes]:
    rows = _delimited_rows(path, delimiter)
    first = next(rows, [])
    names = [_text(cell) for cell in first]
    number = int(column) if column.isdecimal() else 0
    header = _is_header(first) or (column in names and not number)
    if column in names and not number:
        place = names.index(column)
    elif number:
        place = number - 1
    else:
        known = ", ".join(names) if header else f"numbers from 1 to {len(first)}, without names"
        raise UserError(f"{path}: expected a column called {column}, got {known}")
    most = 0
    for row in rows if header else itertools.chain([first], rows):
        most = max(most, len(row))
        yield row[place] if place < len(row) else b""
    if 0 < most <= place:
        raise UserError(f"{path}: expected a column {column}, got at most {most}; choose another")


def _delimited_rows(path: str, delimiter: str) -> Iterator[list[bytes]]:
    """The rows of separated values.

    Raises:
        UserError: a row has more values than the first: a sentence in it is cut. Those separated by
            tabs may have more, unless the first row has names.
    """
    rows = _cut_rows(path, delimiter)
    first = next(rows, [])
    yield first
    tabs = delimiter == "\t"
    checked = not tabs or _is_header(first)
    remedy = "replace tabs in them" if tabs else f"put values with {delimiter!r} in quotation marks"
    for number, row in enumerate(rows, start=2):
        if checked and len(row) > len(first):
            raise UserError(
                f"{path}: row {number}: expected at most {len(first)} values separated by"
                f" {delimiter!r}, as in the first row, got {len(row)}; {remedy}"
            )
        yield row


def _cut_rows(path: str, delimiter: str) -> Iterator[list[bytes]]:
    """The rows as they are; quotes mean nothing in values separated by tabs."""
    lines = (line for lines in line_batches(path, _LINES) for line in lines)
    if delimiter == "\t":
        for line in lines:
            yield line.removesuffix(b"\r").split(b"\t")
        return
    reader = csv.reader(
        (line.decode("utf-8", "surrogateescape") + "\n" for line in lines),
        delimiter=delimiter,
        skipinitialspace=True,  # "a, b", "c"
        strict=True,  # otherwise a quotation mark that nothing closes swallows rows
    )
    first = 1  # line of the row
    try:
        for row in reader:
            first = reader.line_num + 1
            yield [cell.encode("utf-8", "surrogateescape") for cell in row]
    except csv.Error as error:
        hint = "look for a quotation mark that nothing closes"
        if "new-line" in str(error):  # a carriage return in a cell without quotation marks
            hint = "end the lines with line feeds"
        raise UserError(
            f"{path}:{first}: expected values separated by {delimiter!r}, got: {error}; {hint}"
        ) from None


def _is_header(row: Sequence[bytes]) -> bool:
    """Whether a row has names of columns: at least two that are known."""
    names = [_text(cell) for cell in row]
    return sum(name in _NAMES for name in names) >= 2


def _json_rows(path: str) -> Iterator[Mapping[str, Any]]:
    lines = itertools.chain.from_iterable(line_batches(path, _LINES))
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line) if line.strip() else {}
        except (ValueError, RecursionError) as error:
            raise UserError(
                f"{path}:{number}: expected a JSON object, got {_shown(line)} ({error})"
            ) from None
        if not isinstance(record, dict):
            raise UserError(f"{path}:{number}: expected a JSON object, got {_shown(line)}")
        yield record


def _dataset_rows(path: str) -> Iterable[Mapping[str, Any]]:
    try:
        import datasets  # takes seconds
    except ImportError:
        raise UserError(
            f"{path}: expected the package datasets, which reads saved data sets, found none;"
            ' pip install "rnnsearch-tf[datasets]"'
        ) from None
    try:
        data = datasets.load_from_disk(path)
    except (FileNotFoundError, ValueError, OSError, KeyError, TypeError) as error:
        raise UserError(
            f"{path}: expected a folder that datasets.Dataset.save_to_disk wrote, got another one"
            f" ({one_line(error)})"
        ) from None
    if isinstance(data, datasets.DatasetDict):
        raise UserError(
            f"{path}: expected one data set, got a folder of several: {', '.join(data)}; name one"
            f" of them, such as {os.path.join(path, next(iter(data)))}"
        )
    return data


def _nested(rows: Iterable[Mapping[str, Any]], path: str, column: str) -> Iterator[bytes]:
    """The texts under a name, or under names joined by dots."""
    rows = iter(rows)
    first = [*itertools.islice(rows, LOOKED_AT)]
    known = _first_cells(first)
    if column not in known:
        raise UserError(
            f"{path}: expected a column called {column}, got {', '.join(known) or 'none'}"
        )
    for number, row in enumerate(itertools.chain(first, rows), start=1):
        value = flat(row).get(column)
        if not isinstance(value, (str, type(None))):
            raise UserError(
                f"{path}:{number}: expected text under {column}, got {type(value).__name__}"
            )
        yield (value or "").encode("utf-8", "surrogatepass")


def _first_cells(rows: Iterable[Mapping[str, Any]]) -> dict[str, bool]:
    """{column: whether it has text} of the first records, each of which may lack some."""
    columns: dict[str, bool] = {}
    for row in itertools.islice(rows, LOOKED_AT):
        for name, value in flat(row).items():
            columns[name] = columns.get(name, False) or isinstance(value, str)
    return columns


def flat(row: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """{name: value} of a record; names of nested records are joined by dots.

    Example:
        >>> flat({"id": 7, "translation": {"en": "a cat", "fr": "un chat"}})
        {'id': 7, 'translation.en': 'a cat', 'translation.fr': 'un chat'}
    """
    cells: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            cells |= flat(value, f"{above}{name}.")
        else:
            cells[f"{above}{name}"] = value
    return cells


def _tmx(path: str, column: str) -> Iterator[bytes]:
    """The segments of a language; `en` also takes those of en-US."""
    wanted = column.lower()
    seen = False
    for unit in _tmx_units(path):
        close = (text for language, text in unit.items() if language.startswith(f"{wanted}-"))
        text = unit.get(wanted) or next(close, "")
        seen = seen or bool(text)
        yield text.encode("utf-8", "surrogatepass")
    if not seen:
        raise UserError(
            f"{path}: expected segments in the language {column}, got none; its languages are"
            f" {', '.join(look(path).columns)}"
        )


def _is_tmx(path: str) -> bool:
    """Whether a file begins as TMX, in UTF-8 or UTF-16, both of which the parser reads."""
    with opened(path, lambda: path) as stream:
        begin = stream.read1(CHUNK)
    if begin.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        begin = begin.decode("utf-16", "replace").encode("utf-8")
    begin = begin.removeprefix(codecs.BOM_UTF8).lstrip()
    return b"<tmx" in begin and re.match(rb"<\?xml|<!DOCTYPE tmx|<tmx\b", begin) is not None


def _tmx_units(path: str) -> Iterator[dict[str, str]]:
    """{language in small letters: text} of each translation unit, the codes of formats left out."""
    with opened(path, lambda: path) as stream:
        try:
            events = ElementTree.iterparse(stream, events=("start", "end"))
            _, parent = next(events)
            for event, element in events:
                name = _local(element.tag)
                if event == "start" and name == "body":
                    parent = element
                elif event == "end" and name == "tu":
                    yield _segments(element)
                    parent.clear()  # or it would hold all units
        # the last two: an encoding that is unknown, or that the parser does not read
        except (ElementTree.ParseError, LookupError, ValueError) as error:
            raise UserError(
                f"{path}: expected TMX, got malformed XML ({error}); export it again, in UTF-8"
            ) from None


def _segments(unit: ElementTree.Element) -> dict[str, str]:
    """{language in small letters: text} of a unit; the first variant of a language counts."""
    texts: dict[str, str] = {}
    for variant in unit:
        named = (value for name, value in variant.items() if _local(name) == "lang")
        language = next(named, "").lower()
        for segment in variant:
            if _local(segment.tag) == "seg":
                texts.setdefault(language, "".join(_words(segment)))
    return texts


def _words(element: ElementTree.Element) -> Iterator[str]:
    """The text of a segment, without the codes of a format (in bpt, ept, it, ph and ut)."""
    if _local(element.tag) in ("seg", "hi", "sub"):
        yield element.text or ""
        for child in element:
            yield from _words(child)
            yield child.tail or ""


def _local(tag: str) -> str:
    """A name in XML without its namespace."""
    return tag.rpartition("}")[2]


def _has_words(cell: bytes) -> bool:
    """Whether a cell has more than numbers, dates and times."""
    return re.search(rb"[^\d\s.,:/-]", cell) is not None


def _text(cell: bytes) -> str:
    return cell.decode("utf-8", "replace").strip()


def _shown(line: bytes) -> str:
    return repr(line[:60].decode("utf-8", "replace"))
