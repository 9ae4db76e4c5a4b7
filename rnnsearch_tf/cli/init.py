"""Write a configuration for your own text: DIR/config.yaml, fitted to two parallel files (line k of
one translates line k of the other), or to one file of pairs:

  rnnsearch init mine --source train.en --target train.fr
  rnnsearch init mine --pairs fra.txt --columns 1,2 --source-language en --target-language fr

It reads the text first: how many pairs, their lengths, bad lines. The languages are taken from the
names of files or columns, such as train.en and train.fr.gz. You may change anything in the file
before training.
"""

import pathlib
import shlex
import sys
from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import flags
from rnnsearch_tf.cli.shared import pair_of_columns
from rnnsearch_tf.config import check_value
from rnnsearch_tf.data.pairs import SIDES
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files.atomic import make_folder, write_file
from rnnsearch_tf.files.streams import check_readable_again


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="folder to create")
    parser.add_argument(
        "--source",
        metavar="F",
        help="text to translate from, one sentence a line, plain or compressed",
    )
    parser.add_argument("--target", metavar="F", help="its translation, line by line")
    flags.add_pairs(parser, "--source and --target")
    for side in SIDES:
        parser.add_argument(
            f"--{side}-language",
            metavar="CODE",
            help="such as es or pt-BR (default: taken from the name of the file or column)",
        )
    flags.add_whole_number(parser, "--minutes", "time limit of the training", default=60)


def run(arguments: Namespace) -> None:
    codes = []
    for side in SIDES:
        code = getattr(arguments, f"{side}_language")
        codes.append(code and check_value("source.language", code, f"--{side}-language"))
    source, target = _texts(arguments)
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
    from rnnsearch_tf.data.inspection.fitting import (
        UNKNOWN_LANGUAGE,
        configuration,
        inspect,
        language_of,
    )

    found = inspect(source, target, *codes)
    # a path that is not UTF-8 is an error before there is a folder
    text = configuration(found, source, target, arguments.minutes).encode("utf-8")
    make_folder(folder)
    write_file(path, text)
    config = shlex.quote(str(path))
    trained = shlex.quote(str(folder / "run"))
    print(found.report)
    if found.report.unpaired:
        print(
            f"WARNING: one file is longer than the other by {found.report.unpaired:,} line(s). If a"
            " line is missing in the middle, all following lines are paired with the wrong ones,"
            " and nothing can be learned from them: look at the last lines of both files",
            file=sys.stderr,
        )
    for side, code, named in zip(SIDES, found.languages, map(language_of, (source, target))):
        if named not in (code, UNKNOWN_LANGUAGE):
            print(
                f"WARNING: the {side} file's name says {named}, --{side}-language says {code}:"
                " check that the files are not swapped",
                file=sys.stderr,
            )
    print(f"written: {path}; edit it as you like")
    for side, code in zip(SIDES, found.languages):
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


def _texts(arguments):
    """(source, target) of --source and --target, or of --pairs."""
    pair = pair_of_columns(arguments)
    named = [flag for flag in ("--source", "--target") if getattr(arguments, flag[2:]) is not None]
    if pair and named:
        raise UsageError(
            f"--pairs: expected no {' or '.join(named)} beside it, got both; --pairs has both sides"
        )
    if pair is None and len(named) < 2:
        raise UsageError(
            f"expected --source F and --target F, or --pairs F, got {' '.join(named) or 'neither'}"
        )
    for flag in named:  # training reads them again
        check_readable_again(getattr(arguments, flag[2:]))
    return pair or (arguments.source, arguments.target)
