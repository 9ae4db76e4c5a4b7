"""Write a configuration for your own text: DIR/config.yaml, fitted to two parallel files (line k of
one translates line k of the other), or to one file of pairs:

  rnnsearch init mine --source train.en --target train.fr
  rnnsearch init mine --pairs fra.txt --columns 1,2 --source-language en --target-language fr

It reads the text first: how many pairs, and their lengths. The languages are taken from the
names of the files, such as train.en and train.fr.gz. Of a table, tab-separated or .csv, the two
columns become the files DIR/train.source and DIR/train.target. You may change anything in the
configuration before training.
"""

import pathlib
import re
import shlex
import sys
from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import arguments as shared
from rnnsearch_tf.config import check_value
from rnnsearch_tf.data.pairs import SIDES
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files.atomic import make_folder, write_file


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="folder to create")
    parser.add_argument(
        "--source",
        metavar="F",
        help="text to translate from, one sentence a line, plain or .gz",
    )
    parser.add_argument("--target", metavar="F", help="its translation, line by line")
    parser.add_argument(
        "--pairs", metavar="F", help="a table with both sides, .tsv or .csv, instead of two files"
    )
    parser.add_argument(
        "--columns",
        metavar="A,B",
        help="columns of source and target: numbers, or names in the first row (default: 1,2)",
    )
    for side in SIDES:
        parser.add_argument(
            f"--{side}-language",
            metavar="CODE",
            help="such as es or pt-BR (default: taken from the name of the file)",
        )
    shared.add_number(parser, "--minutes", "time limit of the training", default=60)


def run(arguments: Namespace) -> None:
    codes = []
    for side in SIDES:
        code = getattr(arguments, f"{side}_language")
        codes.append(code and check_value("source.language", code, f"--{side}-language"))
    _check_sides(arguments)
    folder = pathlib.Path(arguments.folder)
    if folder.exists() and not folder.is_dir():
        raise UserError(
            f"{folder}: expected a folder or a new name, found a file; choose another DIR"
        )
    path = pathlib.Path(f"{folder}/config.yaml")
    if path.exists():
        raise UserError(
            f"{path}: expected no configuration, found one; choose another DIR, or delete it"
        )
    from rnnsearch_tf.data.fitting import (
        UNKNOWN_LANGUAGE,
        configuration,
        language_of,
    )
    from rnnsearch_tf.data.table import write_columns

    if arguments.pairs:
        make_folder(folder)
        columns = (arguments.columns or "1,2").split(",")
        source, target = write_columns(arguments.pairs, columns, folder)
        codes = [code or language_of(column) for code, column in zip(codes, columns)]
    else:
        source, target = arguments.source, arguments.target
    if pathlib.Path(source).resolve() == pathlib.Path(target).resolve():
        raise UserError(
            f"{source}: expected two files, a text and its translation, got one file twice; name"
            " the other one, or, if it is a table of both, --pairs"
        )
    names = [language_of(path) for path in (source, target)]
    codes = [code or name for code, name in zip(codes, names)]
    text, report = configuration(source, target, tuple(codes), arguments.minutes)
    content = text.encode("utf-8")  # a path that is not UTF-8 is an error before there is a folder
    make_folder(folder)
    write_file(path, content)
    config = shlex.quote(str(path))
    trained = shlex.quote(str(folder / "run"))
    print(report)
    for side, code, name in zip(SIDES, codes, names):
        if name not in (code, UNKNOWN_LANGUAGE):
            print(
                f"WARNING: the {side} file's name says {name}, --{side}-language says {code}:"
                " check that the files are not swapped",
                file=sys.stderr,
            )
    print(f"written: {path}; edit it as you like")
    for side, code in zip(SIDES, codes):
        if code == UNKNOWN_LANGUAGE:
            print(
                f"no name tells the language of the {side}: write its code into {path}, as"
                f" {side}.language ({code} is unknown), or name it with --{side}-language",
                file=sys.stderr,
            )
    print(f"next, check the text:  rnnsearch doctor --config {config}", file=sys.stderr)
    print(
        f"then train for {arguments.minutes} minutes:  rnnsearch train --config {config} --output"
        f" {trained}",
        file=sys.stderr,
    )


def _check_sides(arguments):
    """Refuse anything but --source and --target, or --pairs."""
    named = [flag for flag in ("--source", "--target") if getattr(arguments, flag[2:]) is not None]
    if arguments.pairs and named:
        raise UsageError(
            f"--pairs: expected no {' or '.join(named)} beside it, got both; --pairs has both sides"
        )
    if arguments.pairs is None and len(named) < 2:
        raise UsageError(
            f"expected --source F and --target F, or --pairs F, got {' '.join(named) or 'neither'}"
        )
    if arguments.columns is not None:
        if arguments.pairs is None:
            raise UsageError(
                f"--columns {arguments.columns}: expected --pairs F with it, got none; name the"
                " table that has the columns"
            )
        if not re.fullmatch("[^,]+,[^,]+", arguments.columns):
            raise UsageError(
                f"--columns {arguments.columns}: expected two, such as 1,2 or en,fr; name the one"
                " of the source first"
            )
