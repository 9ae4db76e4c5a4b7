"""The errors a user can cause.

Everything a user does wrong raises :class:`UserError`; the command line prints
its message as one line and exits with its code, without a traceback.
"""


class UserError(ValueError):
    """A mistake in the input, named so that it can be corrected.

    The message says what was expected, what came, where, and what to do.

    Attributes:
        exit_code: process exit status when the error reaches the command line:
            1 for a failure while working, 2 for wrong usage.
    """

    exit_code = 1


class UsageError(UserError):
    """Wrong usage: an unknown verb, option, section or value."""

    exit_code = 2


class Terminated(BaseException):
    """SIGTERM came: the work stops, and can be gone on with; no Exception, as KeyboardInterrupt is none."""


class PeerLost(Terminated):
    """Another worker of the same training is gone: the work stops, and can be gone on with when all are there again."""
