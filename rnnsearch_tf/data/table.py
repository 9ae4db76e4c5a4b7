"""Write two columns of a table as the two line files of a text: `rnnsearch init --pairs`."""

from __future__ import annotations

import csv
import pathlib
import re
from collections.abc import Sequence

from rnnsearch_tf.data.pairs import SIDES
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.atomic import replacing
from rnnsearch_tf.files.reading import read_lines


def table_files(folder: AnyPath) -> list[pathlib.Path]:
    """Paths of the two line files that a table becomes."""
    return [pathlib.Path(folder) / f"train.{side}" for side in SIDES]


def write_columns(table: AnyPath, columns: Sequence[str], folder: AnyPath) -> list[pathlib.Path]:
    """Write two columns to DIR/train.source and DIR/train.target, a cell a line.

    Args:
        table: comma-separated values if its name ends in .csv or .csv.gz, otherwise separated by
            tabs, where quotation marks mean nothing.
        columns: (source, target), both numbers from 1, or both names in the first row.
        folder: folder to write to.

    Raises:
        UsageError: the first row has no such names.
        UserError: the table cannot be read, or a row has too few cells.
    """
    commas = str(table).removesuffix(".gz").endswith(".csv")
    separator = "commas" if commas else "tabs"
    rows = csv.reader(
        (line.replace("\r", " ") + "\n" for line in read_lines(table)),
        delimiter="," if commas else "\t",
        quoting=csv.QUOTE_MINIMAL if commas else csv.QUOTE_NONE,
        strict=True,
    )
    paths = table_files(folder)
    try:
        if all(re.fullmatch("[1-9][0-9]*", column) for column in columns):
            places = [int(column) - 1 for column in columns]
        else:
            names = next(rows, [])
            if missing := [column for column in columns if column not in names]:
                raise UsageError(
                    f"--columns: expected numbers from 1, or names in the first row of {table}, got"
                    f" {missing[0]}; its names are {', '.join(names)}"
                )
            places = [names.index(column) for column in columns]
        with replacing(paths[0]) as source, replacing(paths[1]) as target:
            with open(source, "wb") as sources, open(target, "wb") as targets:
                for row in filter(None, rows):
                    if len(row) <= max(places):
                        raise UserError(
                            f"{table}:{rows.line_num}: expected at least {max(places) + 1} columns,"
                            f" separated by {separator}, got {len(row)}; correct the line, or name"
                            " two files with --source and --target"
                        )
                    for file, place in zip((sources, targets), places):
                        file.write(re.sub("\n+", " ", row[place]).encode() + b"\n")
    except csv.Error as error:
        raise UserError(
            f"{table}:{rows.line_num}: expected values separated by"
            f" {separator}, got: {error}; correct the line"
        ) from None
    return paths
