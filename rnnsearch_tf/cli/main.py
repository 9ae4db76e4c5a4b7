"""``rnnsearch COMMAND …``: finds the command, parses its arguments, and turns errors into one line
and an exit code.

A command is a module in this folder with two functions: ``arguments(parser)`` declares its
arguments, ``run(arguments)`` does the work. A module imports what needs TensorFlow inside ``run``,
so that ``--help`` and usage errors answer at once.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import functools
import importlib
import logging
import os
import pathlib
import re
import sys
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import NoReturn

from rnnsearch_tf import __version__
from rnnsearch_tf.errors import UsageError, UserError, one_line

GROUPS = {
    "first steps": {
        "demo": "train, translate and serve on the built-in corpus, in a few minutes",
        "init": "write a configuration for your own two text files",
        "doctor": "check training data for problems",
    },
    "training": {
        "train": "train a model and keep its best checkpoint",
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
        "serve": "serve exports over gRPC and REST, like tensorflow_model_server",
        "client": "translate with a served model, over gRPC",
        "preset": "convert a trained model to a keras-nlp preset",
    },
    "phrase-based systems (Moses)": {
        "rescore": "add the model's score to a Moses n-best list",
    },
    "help and configuration": {
        "options": "list the shipped configurations and the options, or explain one",
    },
}
"""The commands by purpose, in the order of --help: {group: {command: description}}."""

VERBS = {verb: meaning for group in GROUPS.values() for verb, meaning in group.items()}

START = """rnnsearch trains and serves translation models. To begin:

  rnnsearch demo                              train and translate on a built-in corpus, in a few\
 minutes
  rnnsearch init mine --source F --target F   write a configuration for your two files; prints the\
 next command
  rnnsearch init mine --pairs F --columns 1,2 the same for one file of pairs (.tsv, .csv)

rnnsearch --help lists all commands, rnnsearch help COMMAND explains one."""

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_INTERRUPTED = 130
EXIT_NO_READER = 141
"""The reader of the output is gone: 128 + SIGPIPE, as shells report it."""


def run(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; the entry point of ``rnnsearch``.

    Args:
        argv: the words after the program's name; None: those of ``sys.argv``.

    Returns:
        0 done, 1 failed, 2 wrong usage, 130 interrupted by Ctrl-C or SIGTERM, 141 the reader of the
        output has gone.

    Example:
        >>> run(["--version"])
        rnnsearch 0.1.0
        0
    """
    return _run_program(_dispatch, argv)


def run_module(module: ModuleType, program: str, argv: Sequence[str] | None = None) -> int:
    """Run a module that has a command's two functions as a program, as ``python -m papers`` does.

    Args:
        program: name of the program in messages.
        argv: the words after the program's name; None: those of ``sys.argv``.

    Returns:
        The exit code, see :func:`run`.
    """
    return _run_program(functools.partial(_run_command, module, program), argv)


def _run_program(command, argv) -> int:
    """Call a function of the words; an error is printed as one line. Return the exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", write_through=True)
    logging.basicConfig(
        format="rnnsearch: %(message)s", level=logging.WARNING, stream=sys.stderr, force=True
    )
    try:
        with warnings.catch_warnings():
            if not os.environ.get("RNNSEARCH_DEBUG"):
                warnings.simplefilter("ignore")  # those are for developers; ours are logged
            code = command(argv) or EXIT_DONE
        sys.stdout.flush()
        return code
    except SystemExit as stop:  # argparse, after --help
        return int(stop.code or EXIT_DONE)
    except BrokenPipeError:
        # otherwise Python itself would try to flush, and complain
        with contextlib.suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        return EXIT_NO_READER
    except KeyboardInterrupt:
        _say("interrupted")
        return EXIT_INTERRUPTED
    except Exception as error:  # users see one line, RNNSEARCH_DEBUG shows the traceback
        if os.environ.get("RNNSEARCH_DEBUG"):
            raise
        return _explain(error)


def _dispatch(argv) -> int:
    if not argv:
        print(START)
        return EXIT_DONE
    name, *rest = argv
    if name in ("-h", "--help") or argv == ["help"]:
        print(_overview())
        return EXIT_DONE
    if name == "help":
        return _dispatch([*rest, "--help"])
    if name in ("--version", "version"):
        print(f"rnnsearch {__version__}")
        return EXIT_DONE
    if name not in VERBS:
        raise UsageError(f"unknown command {name!r}{_nearest(name, VERBS)}; see rnnsearch --help")
    return _run_command(_module(name), f"rnnsearch {name}", rest)


def _run_command(command, program, words) -> int:
    """Parse the words, set up logging as they ask for, and call the module's run()."""
    arguments = _parser(command, program).parse_intermixed_args(words)
    default = getattr(command, "LOG_LEVEL", logging.WARNING)
    logging.getLogger("rnnsearch_tf").setLevel(logging.ERROR if arguments.quiet else default)
    if not arguments.quiet:
        return command.run(arguments) or EXIT_DONE
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stderr(nowhere):
        return command.run(arguments) or EXIT_DONE


def _module(name) -> ModuleType:
    return importlib.import_module(f"rnnsearch_tf.cli.{name.replace('-', '_')}")


def parser_of(name: str) -> Parser:
    """The argument parser of a command, by its name."""
    return _parser(_module(name), f"rnnsearch {name}")


def _parser(command, program) -> Parser:
    """The argument parser of a module, with the options of every command."""
    parser = Parser(
        prog=program,
        description=command.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.arguments(parser)
    parser.add_argument(
        "--quiet", action="store_true", help="show errors only, no progress and no warnings"
    )
    return parser


class Parser(argparse.ArgumentParser):
    """An argument parser that raises UsageErrors, which name the nearest option."""

    @property
    def actions(self) -> list[argparse.Action]:
        """All arguments. argparse has no public list of them; tried with Python 3.11's, and tested
        by tests/house/test_library_internals.py.
        """
        return self._actions

    def error(self, message: str) -> NoReturn:
        message = " ".join(message.removeprefix("argument ").split())
        unknown = re.match(r"unrecognized arguments: (-[^\s=]+)", message)
        if unknown:
            names = [name for action in self.actions for name in action.option_strings]
            message = f"unknown option {unknown[1]}{_nearest(unknown[1], names)}"
        raise UsageError(f"{message}; see {self.prog} --help")


def _overview() -> str:
    width = max(map(len, VERBS))
    groups = []
    for group, verbs in GROUPS.items():
        lines = [f"  {name:<{width}}  {meaning}" for name, meaning in verbs.items()]
        groups.append("\n".join([f"{group}:", *lines]))
    return (
        "usage: rnnsearch COMMAND …\n\nAttention-based neural machine translation (Bahdanau, Cho"
        " and Bengio 2015) in TensorFlow.\n\n"
        + "\n\n".join(groups)
        + "\n\nrnnsearch help COMMAND explains a command; rnnsearch --version prints the"
        " version.\nResults go to standard output, messages and progress to standard error;"
        " --quiet shows errors only.\nExit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted"
        " by Ctrl-C or SIGTERM (a training is saved\nand can be resumed), 141 the reader of the"
        " output is gone.\nRNNSEARCH_DEBUG=1 shows tracebacks.\n"
        f"Documents: {_documents()}: guide.md, first-hour.md, troubleshooting.md."
    )


def _documents() -> str:
    """Where the documents are: beside the package, or, from a wheel, in the source distribution."""
    beside = pathlib.Path(__file__).parents[2] / "docs"
    found = (beside / "guide.md").exists()
    return str(beside) if found else "docs/ of the source distribution and of a clone"


def _nearest(name, names) -> str:
    """A guess at what was meant: the nearest of the names; or all of them, as a far guess is worse
    than none.
    """
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.7)
    return (
        f"; did you mean {close[0]}?" if close else f"; expected one of {', '.join(sorted(names))}"
    )


def _explain(error: Exception) -> int:
    """Print one line about the error; returns the exit code."""
    if isinstance(error, UserError):
        _say(f"error: {error}")
        return error.exit_code
    if isinstance(error, OSError):
        _say(f"error: {error.filename or 'standard output'}: {error.strerror or error}")
        return EXIT_FAILED
    if KeyboardInterrupt.__name__ in str(error):  # of Python code that TensorFlow ran
        _say("interrupted")
        return EXIT_INTERRUPTED
    _say(
        f"unexpected error: {type(error).__name__}: {one_line(error, 300)} (RNNSEARCH_DEBUG=1 shows"
        " where)"
    )
    return EXIT_FAILED


def _say(message):
    with contextlib.suppress(OSError):  # the reader of standard error may be gone, too
        print("rnnsearch: " + " ".join(str(message).split()), file=sys.stderr, flush=True)
