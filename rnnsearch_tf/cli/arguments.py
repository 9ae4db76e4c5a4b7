"""Arguments that several commands have, and what they stand for: models, input files, numbers.

Imports what reads YAML inside functions, so that ``--help`` answers at once.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rnnsearch_tf.files.reading import read_batches
from rnnsearch_tf.runtime.progress import progress
from rnnsearch_tf.runtime.tensorflow import import_tensorflow

if TYPE_CHECKING:
    from rnnsearch_tf.translation import Translator


def add_model(
    parser: argparse.ArgumentParser,
    settings: str = "change an option, such as search.batch_size=256; repeatable",
) -> None:
    """Add --model, which may be repeated, and --set."""
    parser.add_argument(
        "--model",
        action="append",
        required=True,
        metavar="RUN",
        help="run folder that `rnnsearch train` wrote, export, or name of a shipped model; several"
        " run folders form an ensemble",
    )
    add_settings(parser, settings)


def add_settings(parser: argparse.ArgumentParser, meaning: str) -> None:
    parser.add_argument(
        "--set", action="append", default=[], metavar="section.key=value", help=meaning
    )


def add_switch(parser: argparse.ArgumentParser, flag: str, meaning: str) -> None:
    parser.add_argument(flag, action="store_true", help=meaning)


def add_number(
    parser: argparse.ArgumentParser,
    flag: str,
    meaning: str,
    default: int | None = None,
    minimum: int = 1,
    maximum: float = math.inf,
) -> None:
    """Add a flag for a whole number within limits."""
    limits = f", at least {minimum}" if maximum == math.inf else f" from {minimum} to {maximum}"
    if default is not None:
        meaning += " (default: %(default)s)"

    def read(text: str) -> int:
        value = int(text) if text.isdecimal() else -1
        if not minimum <= value <= maximum:
            raise argparse.ArgumentTypeError(f"expected a whole number{limits}, got {text!r}")
        return value

    parser.add_argument(flag, type=read, default=default, metavar="N", help=meaning)


def add_beam_size(parser: argparse.ArgumentParser) -> None:
    add_number(parser, "--beam-size", "hypotheses kept at each step (default: the run's)")


def add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output", metavar="F", help="write the results to this file, not to standard output"
    )


def add_files(parser: argparse.ArgumentParser, purpose: str) -> None:
    """Add the input of a text command: the named files, one after the other, or standard input."""
    parser.add_argument(
        "files",
        nargs="*",
        default=["-"],
        metavar="FILE",
        help=f"{purpose}, one a line, UTF-8, plain or gzip; none or -: standard input",
    )


def add_pair(parser: argparse.ArgumentParser) -> None:
    """Add two parallel files."""
    parser.add_argument("source", metavar="SOURCE", help="source sentences, UTF-8, plain or gzip")
    parser.add_argument("target", metavar="TARGET", help="target sentences, as many lines")


def input_batches(files: Sequence[str | int], size: int) -> Iterator[list[str]]:
    """Yield lists of 1 to `size` lines of the files, as soon as they arrive."""
    return (lines for name in files for lines in read_batches(name, size))


def lines_at_once(translator: Translator) -> int:
    """Number of lines to read together: four batches, which the Translator sorts by length."""
    return 4 * translator.config.search.batch_size


def line_progress(doing: str, files: Sequence[str], output: str | None = None) -> Any:
    """A progress bar that counts lines; hidden if the input or the results share its terminal."""
    typed = "-" in files and sys.stdin.isatty()
    on_screen = typed or output in (None, "-") and sys.stdout.isatty()
    return progress(doing=doing, unit="lines", hidden=on_screen)


def load_translator(arguments: argparse.Namespace) -> Translator:
    """Load the run or the export of --model, or an ensemble of runs, with the options of --set."""
    from rnnsearch_tf.config import load_config
    from rnnsearch_tf.export.publishing import exported_version
    from rnnsearch_tf.runs.folder import Run

    for path in arguments.model:  # fail before the slow import of TensorFlow
        if exported_version(path) is None:
            load_config(Run.open(path).config, arguments.set)
    import_tensorflow()
    from rnnsearch_tf.export.opening import open_translator

    return open_translator(arguments.model, arguments.set)
