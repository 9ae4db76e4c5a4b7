"""The errors a user can cause.

Everything a user does wrong raises :class:`UserError`; the command line prints
its message as one line and exits with its code, without a traceback.
"""


class UserError(Exception):
    """A mistake in the input, named so that it can be corrected.

    The message says what was expected, what came, where, and what to do. It is no ValueError: code
    that turns what a library says of a damaged file into words of its own must not do so with words
    that are there already.

    Attributes:
        exit_code: process exit status when the error reaches the command line:
            1 for a failure while working, 2 for wrong usage.
    """

    exit_code = 1

    def __init__(self, message=""):
        # its own, since AutoGraph puts a stack into the message of errors that have Exception's
        super().__init__(message)


class UsageError(UserError):
    """Wrong usage: an unknown verb, option, section or value."""

    exit_code = 2


class Terminated(BaseException):
    """Raised on SIGTERM: the work stops and can be resumed. Like KeyboardInterrupt, it is not an
    Exception.
    """


class PeerLost(Terminated):
    """Another worker of the same training has ended: the work stops and can be resumed with all
    workers.
    """
