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
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files.atomic import make_folder, write_file
from rnnsearch_tf.text.languages import base


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="folder to create")
    parser.add_argument(
        "--source",
        metavar="F",
        help="text to translate from, one sentence a line, plain or gzip",
    )
    parser.add_argument("--target", metavar="F", help="its translation, line by line")
    parser.add_argument("--pairs", metavar="F", help="a table of both, .tsv or .csv, instead")
    parser.add_argument(
        "--columns",
        metavar="A,B",
        help="columns of source and target: numbers, or names in the first row (default: 1,2)",
    )
    for side in ("source", "target"):
        parser.add_argument(
            f"--{side}-language",
            metavar="CODE",
            help="such as es or pt-BR (default: taken from the name of the file)",
        )
    shared.add_number(parser, "--minutes", "time limit of the training", default=60)


def run(arguments: Namespace) -> None:
    from rnnsearch_tf.config import check_value
    from rnnsearch_tf.data.fitting import UNKNOWN_LANGUAGE, configuration, language_of
    from rnnsearch_tf.data.table import table_files, write_columns

    _check_sides(arguments)
    languages = {"source": arguments.source_language, "target": arguments.target_language}
    for side, code in languages.items():
        if code:
            check_value("source.language", code, f"--{side}-language")
    folder = pathlib.Path(arguments.folder)
    path = folder / "config.yaml"
    for taken in (folder, path, *(table_files(folder) if arguments.pairs else ())):
        if taken.is_file():
            raise UserError(
                f"{taken}: expected nothing there, found a file; choose another DIR, or delete it"
            )
    if arguments.pairs:
        names = (arguments.columns or "1,2").split(",")
        files = write_columns(arguments.pairs, names, make_folder(folder))
    else:
        names = files = [pathlib.Path(arguments.source), pathlib.Path(arguments.target)]
    if files[0].resolve() == files[1].resolve():
        raise UserError(
            f"{files[0]}: expected two files, a text and its translation, got one file twice; name"
            " the other one, or, if it is a table of both, --pairs"
        )
    notes = []
    for (side, code), name in zip(languages.items(), map(language_of, names)):
        languages[side] = code or name
        if name != UNKNOWN_LANGUAGE and base(name) != base(languages[side]):
            notes.append(
                f"WARNING: the {side} file's name says {name}, --{side}-language says {code}:"
                " check that the files are not swapped"
            )
        elif languages[side] == UNKNOWN_LANGUAGE:
            notes.append(
                f"the file's name does not tell the language of the {side}: write its code, such"
                f" as en, into {path}, as {side}.language, or name it with --{side}-language"
            )
    codes = languages["source"], languages["target"]
    try:
        text, report, first = configuration(files[0], files[1], codes, arguments.minutes)
    except UserError:
        for written in files if arguments.pairs else ():  # so that the next try finds nothing there
            written.unlink(missing_ok=True)
        raise
    make_folder(folder)
    write_file(path, text)
    print(report)
    for code, sentence in zip(codes, first):
        print(f"{code}: {sentence[:100]}")
    print(f"written: {path}; edit it as you like")
    config, trained = (shlex.quote(str(each)) for each in (path, folder / "run"))
    notes += [
        f"next, check the text:  rnnsearch doctor --config {config}",
        f"then train for {arguments.minutes} min:  rnnsearch train --config {config} --output"
        f" {trained}",
    ]
    print(*notes, sep="\n", file=sys.stderr)


def _check_sides(arguments: Namespace) -> None:
    """Refuse anything but --source and --target, or --pairs."""
    flags = [flag for flag in ("--source", "--target") if getattr(arguments, flag[2:]) is not None]
    if arguments.pairs and flags:
        raise UsageError(
            f"--pairs: expected no {' or '.join(flags)} beside it, got both; --pairs has both sides"
        )
    if not arguments.pairs and len(flags) < 2:
        raise UsageError(
            f"expected --source F and --target F, or --pairs F, got {' '.join(flags) or 'neither'}"
        )
    if arguments.columns is not None and not (
        arguments.pairs and re.fullmatch(r"([^,]+),(?!\1$)[^,]+", arguments.columns)
    ):
        raise UsageError(
            f"--columns {arguments.columns}: expected two of the table --pairs, such as 1,2 or"
            " en,fr; name the one of the source first"
        )
