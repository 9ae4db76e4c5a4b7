"""The errors a user can cause.

Every mistake of a user raises :class:`UserError`; the command line prints its message as one line
and exits with its code, without a traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """A mistake in the input, described so that it can be corrected.

    The message says what was expected, what was found, where, and what to do. It is not a
    ValueError: code that catches a library's ValueError about a damaged file must not catch this.

    Attributes:
        exit_code: process exit status when the error reaches the command line:
            1 for a failure at run time, 2 for wrong usage.
    """

    exit_code = 1

    def __init__(self, message: object = "") -> None:
        # AutoGraph adds a stack trace to the message of errors that inherit Exception's __init__
        super().__init__(message)


class UsageError(UserError):
    """Wrong usage: an unknown command, option, section or value."""

    exit_code = 2


def one_line(error: object, most: int = 200) -> str:
    """The beginning of a library's error, or of a value, on one line, to be quoted in a UserError.

    Example:
        >>> one_line(ValueError("a bad\\n  file"))
        'a bad file'
    """
    return " ".join(str(error).split())[:most]


def did_you_mean(name: str, names: Iterable[str], otherwise: str = "") -> str:
    """The end of a message about an unknown name: the nearest of the known ones; `otherwise` if
    none is near.

    Example:
        >>> did_you_mean("trian", ["train", "score"])
        '; did you mean train?'
    """
    close = difflib.get_close_matches(name, sorted(names), n=1, cutoff=0.7)
    return f"; did you mean {close[0]}?" if close else otherwise and f"; {otherwise}"
