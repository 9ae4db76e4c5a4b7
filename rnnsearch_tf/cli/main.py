"""``rnnsearch COMMAND …``: finds the command, parses its arguments, and turns errors into one line
and an exit code.

A command is a module in this folder with two functions: ``arguments(parser)`` declares its
arguments, ``run(arguments)`` does the work. A module imports what needs TensorFlow or YAML inside
``run``, so that ``--help`` answers at once.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import itertools
import logging
import os
import re
import signal
import sys
import warnings
from collections.abc import Sequence
from typing import NoReturn

from rnnsearch_tf import __version__
from rnnsearch_tf.errors import UsageError, UserError, did_you_mean, one_line

GROUPS = {
    "first steps": {
        "demo": "train, translate and serve on the built-in corpus, in a few minutes",
        "init": "write a configuration for your own text",
        "doctor": "check training data for problems",
    },
    "training": {
        "train": "train a model and keep its best weights",
    },
    "translating": {
        "translate": "translate text, one sentence a line",
        "sample": "draw random translations from the model",
    },
    "evaluating": {
        "evaluate": "compute BLEU and chrF against reference translations",
        "score": "compute log-probabilities of sentence pairs",
    },
    "word alignment": {
        "align": "align the words of sentence pairs",
        "aer": "compute the alignment error rate against reference alignments",
        "plot-attention": "plot attention weights (Figure 3)",
    },
    "deployment": {
        "export": "write a SavedModel for TensorFlow Serving, text in and text out",
        "serve": "serve an export over gRPC and REST, like tensorflow_model_server",
        "client": "translate with a served model, over gRPC",
        "preset": "convert a trained model to a keras-nlp preset",
    },
    "phrase-based systems (Moses)": {
        "rescore": "add the model's score to an n-best list or a phrase table",
    },
    "help and configuration": {
        "options": "list the shipped configurations and the options, or explain one",
    },
}
"""The commands by purpose, in the order of --help: {group: {command: description}}."""

COMMANDS = {name: meaning for group in GROUPS.values() for name, meaning in group.items()}

START = """rnnsearch trains and serves translation models. To begin:

  rnnsearch demo                              train and translate on a built-in corpus, in a few\
 minutes
  rnnsearch init mine --source F --target F   write a configuration for your two files; prints the\
 next command
  rnnsearch init mine --pairs F --columns 1,2 the same for one file of pairs (.tsv, .csv)

rnnsearch --help lists all commands, rnnsearch COMMAND --help explains one."""

ABOUT = """rnnsearch COMMAND --help explains a command; rnnsearch --version prints the version.
Results go to standard output, messages and progress to standard error; --quiet shows errors only.
Exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted by Ctrl-C or SIGTERM (a training is
saved and can be resumed), 141 the reader of the output is gone. RNNSEARCH_DEBUG=1 shows tracebacks.
Documents: README.md, docs/first-hour.md, docs/troubleshooting.md of the source distribution."""


def run(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; the entry point of ``rnnsearch``.

    Args:
        argv: the words after the program's name; None: those of ``sys.argv``.

    Example:
        >>> run(["--version"])
        rnnsearch 0.1.0
        0
    """
    argv = sys.argv[1:] if argv is None else list(argv)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    logging.basicConfig(format="rnnsearch: %(message)s", level=logging.WARNING, force=True)
    try:
        with _sigterm_interrupts(), warnings.catch_warnings():
            if not os.environ.get("RNNSEARCH_DEBUG"):
                warnings.simplefilter("ignore")  # those are for developers; ours are logged
            code = dispatch(argv)
        sys.stdout.flush()
        return code or 0
    except SystemExit as stop:  # argparse, after --help
        return int(stop.code or 0)
    except BrokenPipeError:
        with open(os.devnull, "wb") as nowhere:  # Python flushes standard output when it ends
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        return _say("interrupted", 130)
    except Exception as error:
        if os.environ.get("RNNSEARCH_DEBUG"):
            raise
        return _explain(error)


def _explain(error: Exception) -> int:
    """Print one line about an error; return the exit code."""
    if isinstance(error, UserError):
        return _say(f"error: {error}", error.exit_code)
    if isinstance(error, OSError):
        return _say(f"error: {error.filename or 'output'}: {error.strerror or error}", 1)
    if KeyboardInterrupt.__name__ in str(error):  # of Python code that TensorFlow ran
        return _say("interrupted", 130)
    reason = f"{type(error).__name__}: {one_line(error, 300)}"
    return _say(f"unexpected error: {reason} (RNNSEARCH_DEBUG=1 shows where)", 1)


def _say(message: str, code: int) -> int:
    print(f"rnnsearch: {' '.join(message.split())}", file=sys.stderr)
    return code


@contextlib.contextmanager
def _sigterm_interrupts():
    """Raise KeyboardInterrupt at SIGTERM, as at Ctrl-C; training saves its state at both."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def dispatch(argv: Sequence[str]) -> int | None:
    """Run one command; its errors are raised."""
    name, *words = argv or [""]
    if name == "help" and words:
        name, words = words[0], ["--help"]
    if not name:
        print(START)
    elif name in ("-h", "--help", "help"):
        print(_overview())
    elif name == "--version":
        print(f"rnnsearch {__version__}")
    elif name not in COMMANDS:
        raise UsageError(
            f"unknown command {name!r}{did_you_mean(name, COMMANDS)}; see rnnsearch --help"
        )
    else:
        return _run_command(name, words)
    return None


def _run_command(name, words) -> int | None:
    """Parse the words and call the module's run(); --quiet leaves out all but errors."""
    arguments = parser_of(name).parse(words)
    level = logging.ERROR if arguments.quiet else logging.WARNING
    logging.getLogger("rnnsearch_tf").setLevel(level)
    if not arguments.quiet:
        return arguments.run(arguments)
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stderr(nowhere):
        return arguments.run(arguments)


def parser_of(name: str) -> Parser:
    """The argument parser of a command, by its name; what it parses has the command's `run`."""
    command = importlib.import_module(f"rnnsearch_tf.cli.{name.replace('-', '_')}")
    parser = Parser(
        prog=f"rnnsearch {name}",
        description=command.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.arguments(parser)
    parser.set_defaults(run=command.run)
    parser.add_argument(
        "--quiet", action="store_true", help="show errors only, no progress and no warnings"
    )
    return parser


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are UsageErrors."""

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """Parse the words; flags may stand between the others. An unknown flag is reported first,
        with the nearest valid one; argparse would first report a missing argument.
        """
        known = ["--help", *re.findall(r"--[a-z-]+", self.format_usage())]
        for word in itertools.takewhile(lambda word: word != "--", words):
            flag = word.partition("=")[0]
            if flag.startswith("--") and flag not in known:
                self.error(f"unknown option {flag}{did_you_mean(flag, known)}")
        return self.parse_intermixed_args(words)

    def error(self, message: str) -> NoReturn:
        message = " ".join(message.removeprefix("argument ").split())
        raise UsageError(f"{message}; see {self.prog} --help")


def _overview() -> str:
    width = max(map(len, COMMANDS))
    parts = [
        "usage: rnnsearch COMMAND …",
        "Attention-based neural machine translation (Bahdanau, Cho and Bengio 2015) in TensorFlow.",
    ]
    for group, commands in GROUPS.items():
        lines = [f"  {name:<{width}}  {meaning}" for name, meaning in commands.items()]
        parts.append("\n".join([f"{group}:", *lines]))
    return "\n\n".join([*parts, ABOUT])
