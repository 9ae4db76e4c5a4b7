"""Arguments that several verbs declare, and the types of numbers."""

from __future__ import annotations

import argparse
import contextlib
import math
from collections.abc import Callable
from typing import Any


def add_model(
    parser: argparse.ArgumentParser,
    several: bool = True,
    settings: str = "change one option of the model, such as search.length_penalty=0.6; repeatable",
) -> None:
    """Add --model, and --set for its options."""
    parser.add_argument(
        "--model",
        action="append",
        required=True,
        metavar="RUN",
        help=(
            "folder that `rnnsearch train` wrote, or the name of a model that comes with the"
            f" program{'; several form an ensemble' if several else ''}"
        ),
    )
    add_settings(parser, settings)


def add_switch(parser: argparse.ArgumentParser, flag: str, meaning: str) -> None:
    parser.add_argument(flag, action="store_true", help=meaning)


def add_whole_number(
    parser: argparse.ArgumentParser,
    flag: str,
    meaning: str,
    minimum: int = 1,
    maximum: float = math.inf,
    default: int | None = None,
    metavar: str = "N",
) -> None:
    """Add a flag for a whole number within limits; the help states the default if there is one."""
    if default is not None:
        meaning += " (default: %(default)s)"
    kind = whole_number(minimum, maximum)
    parser.add_argument(flag, type=kind, default=default, metavar=metavar, help=meaning)


def add_folder(
    parser: argparse.ArgumentParser, meaning: str, default: str | None = None, metavar: str = "DIR"
) -> None:
    """Add --output for a folder, which has to be named if there is no default."""
    required = default is None
    if default is not None:
        meaning += " (default: %(default)s)"
    parser.add_argument(
        "--output", required=required, default=default, metavar=metavar, help=meaning
    )


def add_settings(
    parser: argparse.ArgumentParser, meaning: str, metavar: str = "section.key=value"
) -> None:
    """Add --set, which may be repeated."""
    parser.add_argument("--set", action="append", default=[], metavar=metavar, help=meaning)


def add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output",
        metavar="F",
        help="write the results to this file (.gz: compressed), not to standard output",
    )


def add_files(parser: argparse.ArgumentParser, purpose: str = "text to translate") -> None:
    """Add the input of a text verb: the named files, one after the other, or standard input."""
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help=f"{purpose}, plain or .gz; none or -: standard input",
    )


def add_beam_size(parser: argparse.ArgumentParser) -> None:
    add_whole_number(
        parser, "--beam-size", "hypotheses kept at each step (default: the run's search.beam_size)"
    )


def whole_number(minimum: int = 0, maximum: float = math.inf) -> Callable[[str], int]:
    """The argparse `type` of a whole number within limits."""
    limits = f", at least {minimum}" if maximum == math.inf else f" from {minimum} to {maximum}"
    return number(f"a whole number{limits}", lambda value: minimum <= value <= maximum, int)


def number(
    expected: str, is_valid: Callable[[Any], bool], kind: Callable[[str], Any] = float
) -> Callable[[str], Any]:
    """The argparse `type` of a number.

    Args:
        expected: description of a valid number, for error messages.
        is_valid: tells whether a number is valid.
        kind: float or int.
    """

    def read(text: str) -> Any:
        with contextlib.suppress(ValueError):
            if is_valid(value := kind(text)):
                return value
        raise argparse.ArgumentTypeError(f"expected {expected}, got {text!r}")

    return read


def above_zero(value: float) -> bool:
    """Whether a number is above 0 and finite."""
    return 0 < value < math.inf
