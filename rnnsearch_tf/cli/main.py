"""``rnnsearch VERB …``: finds the verb, parses its arguments, and turns errors into one line and an
exit code.

A verb is a module in this folder with two functions: ``arguments(parser)`` declares its arguments,
``run(arguments)`` does the work. A module imports what needs TensorFlow inside ``run``, so that
``--help`` and usage errors answer at once.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import errno
import functools
import importlib
import itertools
import logging
import os
import pathlib
import re
import sys
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NoReturn

from rnnsearch_tf import __version__
from rnnsearch_tf.cli.log_file import LogFile
from rnnsearch_tf.cli.streams import flush_output, open_closed_streams, use_utf8
from rnnsearch_tf.errors import Terminated, UsageError, UserError
from rnnsearch_tf.files.tables import split
from rnnsearch_tf.files.writing import check_own_file
from rnnsearch_tf.runtime.progress import coloured

GROUPS = {
    "first steps": {
        "demo": "train, translate and serve on the built-in corpus, in a few minutes",
        "init": "write a configuration for your own two text files",
        "doctor": "check training data for problems",
        "models": "list the trained models that come with the program",
        "import": "make a RUN of a model that another program trained",
    },
    "training": {
        "train": "train a model and keep its best checkpoint",
        "launch": "train with several processes, on one machine or several",
        "average": "average the weights of a training's last evaluations",
        "runs": "list trainings with their BLEU and loss curve",
    },
    "translating": {
        "translate": "translate text, one sentence a line",
        "translate-corpus": "translate text in many files",
        "sample": "draw random translations from the model",
        "shortlist": "list likely translations of every word, for a faster search",
    },
    "evaluating": {
        "evaluate": "compute BLEU and chrF against reference translations",
        "score": "compute log-probabilities of sentence pairs",
        "embed": "plot learned vectors of words, phrases and sentences",
    },
    "word alignment": {
        "align": "align the words of sentence pairs",
        "aer": "compute the alignment error rate against reference alignments",
        "plot-attention": "plot attention weights (Figure 3)",
    },
    "text and corpora": {
        "select": "select the pairs of a large corpus that resemble a domain",
        "prepare": "convert a corpus larger than memory to ids, once",
    },
    "deployment": {
        "export": "write a SavedModel for TensorFlow Serving, text in and text out",
        "serve": "serve exports over gRPC and REST, like tensorflow_model_server",
        "client": "translate with a served model, over gRPC",
        "preset": "convert a trained model to a keras-nlp preset, or back",
    },
    "phrase-based systems (Moses)": {
        "rescore": "add the model's score to a Moses n-best list",
        "oracle": "compute BLEU of an n-best list and of the best choice from it",
        "phrase-table": "add the model's score to a Moses phrase table",
    },
    "the papers": {
        "fidelity": "compare settings with the paper's and the authors' program's",
    },
    "help and configuration": {
        "configs": "list the configurations that come with the program",
        "options": "list every option of a configuration, with meaning and limits",
        "completion": "print tab completion for bash, zsh and fish",
    },
}
"""The verbs by purpose, in the order of --help: {group: {verb: description}}."""

VERBS = {verb: meaning for group in GROUPS.values() for verb, meaning in group.items()}

VERBOSITY = {
    "--quiet": "show errors only, no progress and no warnings",
    "--verbose": "show details too",
}
"""Switches of every verb and their meaning; --log-file is the third option of every verb."""

START = """rnnsearch trains and serves translation models. To begin:

  rnnsearch demo                              train and translate on a built-in corpus, in a few\
 minutes
  rnnsearch init mine --source F --target F   write a configuration for your two files; prints the\
 next command
  rnnsearch init mine --pairs F               the same for one file of pairs (.tsv, .csv, ...)
  rnnsearch runs                              list the models that you have trained

rnnsearch --help lists all verbs, rnnsearch help VERB explains one."""

_NODE = re.compile(
    r"\[?\[?\{\{\w+ .*?\}\}\S*\]?\]?|\[\[[A-Za-z_]\S*\]\]|\[Op:\S+\]|^\s*\(\d+\) [A-Z_]+: "
)
"""Names of graph nodes in TensorFlow's error messages."""

_BOILERPLATE = (
    "Detected at node",
    "File ",
    "<stack traces",
    "Original stack trace",
    "Stack trace for",
    "Additional GRPC",
    "0 successful operations",
    "0 derived errors",
)
"""Beginnings of the lines that TensorFlow writes around the actual error."""

DISK_FULL = os.strerror(errno.ENOSPC)
EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_TERMINATED = 75
EXIT_INTERRUPTED = 130
EXIT_NO_READER = 141
"""The reader of the output is gone: 128 + SIGPIPE, as shells report it."""


def run(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; the entry point of ``rnnsearch``.

    Args:
        argv: the words after the program's name; None: those of ``sys.argv``.

    Returns:
        0 done, 1 failed, 2 wrong usage, 75 stopped by SIGTERM and resumable, 130 interrupted, 141
        the reader of the output has gone.

    Example:
        >>> run(["--version"])
        rnnsearch 0.1.0
        0
    """
    return _run_program(_command, argv)


def run_module(module: ModuleType, program: str, argv: Sequence[str] | None = None) -> int:
    """Run a module that has a verb's two functions as a program, as ``python -m papers`` does.

    Args:
        program: name of the program in messages.
        argv: the words after the program's name; None: those of ``sys.argv``.

    Returns:
        The exit code, see :func:`run`.
    """
    return _run_program(functools.partial(_run_verb, module, program), argv)


def _run_program(command, argv) -> int:
    """Call a function of the words with the streams, messages and exit codes of the program."""
    argv = sys.argv[1:] if argv is None else list(argv)
    open_closed_streams()
    use_utf8()
    logging.basicConfig(
        format="rnnsearch: %(message)s", level=logging.WARNING, stream=sys.stderr, force=True
    )
    code = _exit_code(lambda: command(argv))
    if code:  # the error has been printed
        with contextlib.suppress(OSError, UserError):
            flush_output()
        return code
    return _exit_code(flush_output)


def _command(argv) -> int:
    """Run a command line; errors are raised."""
    if "_ARGCOMPLETE" in os.environ:
        _module("completion").complete(parser_of, VERBS)
    with warnings.catch_warnings():
        if not os.environ.get("RNNSEARCH_DEBUG"):
            warnings.simplefilter("ignore")  # those are for developers; ours are logged
        return _dispatch(argv)


def _exit_code(function) -> int:
    """Call a function and return its exit code; an error is printed as one line."""
    try:
        return function() or EXIT_DONE
    except SystemExit as stop:  # argparse, after --help
        return int(stop.code or EXIT_DONE)
    except BrokenPipeError:
        return EXIT_NO_READER
    except KeyboardInterrupt as stop:
        _say(_stopped(stop))
        return EXIT_INTERRUPTED
    except Terminated as stop:
        _say(_stopped(stop))
        return EXIT_TERMINATED
    except Exception as error:  # users see one line, RNNSEARCH_DEBUG shows the traceback
        if os.environ.get("RNNSEARCH_DEBUG"):
            raise
        return _explain(error)


def _dispatch(argv) -> int:
    if not argv:
        print(START)
        return EXIT_DONE
    name, *rest = argv
    # --quiet and its like are also accepted before the verb
    before = list(itertools.takewhile(VERBOSITY.__contains__, argv))
    if before and argv[len(before) :]:
        verb, *words = argv[len(before) :]
        return _dispatch([verb, *before, *words])
    if name in ("-h", "--help") or argv == ["help"]:
        print(_overview())
        return EXIT_DONE
    if name == "help":
        return _dispatch([*rest, "--help"])
    if name in ("--version", "version"):
        print(f"rnnsearch {__version__}")
        return EXIT_DONE
    if name not in VERBS:
        raise _unknown_word(name)
    return _run_verb(_module(name), f"rnnsearch {name}", rest)


def _run_verb(verb, program, words) -> int:
    """Parse the words, set up logging as they ask for, and call the module's run()."""
    arguments = _parser(verb, program).parse(words)
    logging.getLogger("rnnsearch_tf").setLevel(_log_level(verb, arguments))
    logging.getLogger("rnnsearch_tf.runtime.progress").setLevel(
        logging.ERROR if arguments.quiet else logging.INFO
    )
    with contextlib.ExitStack() as stack:
        if arguments.quiet:  # errors are printed outside of this block
            nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
            stack.enter_context(contextlib.redirect_stderr(nowhere))
        if arguments.log_file is not None:
            _check_log_file(arguments)
            stack.enter_context(_logged(arguments.log_file))
        return verb.run(arguments) or EXIT_DONE


def _module(verb) -> ModuleType:
    return importlib.import_module(f"rnnsearch_tf.cli.{verb.replace('-', '_')}")


def parser_of(name: str) -> Parser:
    """The argument parser of a verb, by its name."""
    return _parser(_module(name), f"rnnsearch {name}")


def _parser(verb, program):
    """The argument parser of a module, with the options of every verb."""
    # imported here, as --version and --help do not need it
    from rnnsearch_tf.cli.shared import StoreOnce

    parser = Parser(
        prog=program,
        description=verb.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.register("action", None, StoreOnce)
    verb.arguments(parser)
    for option, meaning in VERBOSITY.items():
        parser.add_argument(option, action="store_true", help=meaning)
    parser.add_argument(
        "--log-file",
        metavar="F",
        help="also append all messages to this file, each line with its time",
    )
    return parser


def _log_level(verb, arguments):
    """The lowest level of messages to show; the default is LOG_LEVEL of the verb's module, or
    warnings.
    """
    if arguments.quiet and arguments.verbose:
        raise UsageError("expected --quiet or --verbose, got both; leave one out")
    if arguments.quiet:
        return logging.ERROR
    return logging.DEBUG if arguments.verbose else getattr(verb, "LOG_LEVEL", logging.WARNING)


def _check_log_file(arguments):
    """Refuse a log file that is standard output, or that another argument names, too."""
    check_own_file("--log-file", arguments.log_file, "the results")
    place = os.path.realpath(arguments.log_file)
    for name, given in vars(arguments).items():
        for value in given if isinstance(given, list) else [given]:
            is_path = name != "log_file" and isinstance(value, str) and value
            if is_path and os.path.realpath(split(value)[0]) == place:
                raise UsageError(
                    f"--log-file: expected a file of its own, got {value}, which"
                    f" {name.replace('_', '-')} names too; name another"
                )


@contextlib.contextmanager
def _logged(name):
    """Copy standard error to a file inside the block, and the error that ends the block."""
    try:
        file = open(name, "a", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UserError(
            f"--log-file {name}: expected a file that can be written, got: {error.strerror}"
        ) from None
    messages = logging.StreamHandler(file)
    messages.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%d %H:%M:%S"))
    logging.root.addHandler(messages)
    stream = LogFile(sys.stderr, file)
    try:
        with contextlib.redirect_stderr(stream):
            yield
    except (KeyboardInterrupt, Terminated) as stop:
        stream.put(_stopped(stop))
        raise
    except Exception as error:
        stream.put(f"error: {error}")
        raise
    finally:
        stream.close()
        logging.root.removeHandler(messages)
        file.close()


def _unknown_word(name):
    """The error for a first word that is not a verb."""
    if name == "reproduce":
        return UsageError(
            "reproduce: the tables and figures of the papers are made by python -m papers, in a"
            " checkout of the project"
        )
    if name in VERBOSITY:
        return UsageError(f"expected a verb with {name}, got none; see rnnsearch --help")
    if name.startswith("-"):
        return UsageError(
            f"unknown option {name!r}{_nearest(name, ['--help', '--version', *VERBOSITY])}; see"
            " rnnsearch --help"
        )
    return UsageError(f"unknown verb {name!r}{_nearest(name, VERBS)}; see rnnsearch --help")


class Parser(argparse.ArgumentParser):
    """An argument parser that raises UsageErrors, which name the nearest option."""

    @property
    def actions(self) -> list[argparse.Action]:
        """All arguments. argparse has no public list of them; tried with Python 3.11's, and tested
        by tests/house/test_library_internals.py.
        """
        return self._actions

    @property
    def option_names(self) -> set[str]:
        return {name for action in self.actions for name in action.option_strings}

    def parse(self, argv: Sequence[str]) -> argparse.Namespace:
        """Parse the words; unknown options are reported before missing ones. Options may stand
        between the other arguments.

        Raises:
            UsageError: the words are not valid arguments.
        """
        names = self.option_names
        for word in argv:
            if word == "--":
                break
            name = word.partition("=")[0]
            bare = name.lstrip("-–—")  # a text with options may have lost their two dashes
            unknown = name.startswith("--") and " " not in name
            if name not in names and (unknown or name != bare and f"--{bare}" in names):
                raise UsageError(
                    f"unknown option {name}{_nearest(f'--{bare}', names)}; see {self.prog} --help"
                )
        # argparse cannot have both -- and options between the arguments
        parse = self.parse_args if "--" in argv else self.parse_intermixed_args
        arguments = parse(argv)
        for action in self.actions:  # of a variable that is not set, a shell makes an empty value
            value = getattr(arguments, action.dest, None)
            values = value if isinstance(value, list) else [value]
            # a sentence may be empty, and so may a flag of `serve` that is empty by default
            may_be_empty = action.default == "" or action.dest == "sentence"
            if action.option_strings and "" in values and not may_be_empty:
                raise UsageError(
                    f"{action.option_strings[0]}: expected a value, got an empty one; give one, or"
                    " leave the option out"
                )
        return arguments

    def print_help(self, file: Any = None) -> None:
        # argparse's own method ignores that the reader is gone
        for line in self.format_help().splitlines():
            print(line, file=file)

    def error(self, message: str) -> NoReturn:
        raise UsageError(
            f"{' '.join(message.removeprefix('argument ').split())}; see {self.prog} --help"
        )


def _overview() -> str:
    width = max(map(len, VERBS))
    groups = []
    for group, verbs in GROUPS.items():
        lines = [f"  {name:<{width}}  {meaning}" for name, meaning in verbs.items()]
        groups.append("\n".join([f"{group}:", *lines]))
    return (
        "usage: rnnsearch VERB …\n\nAttention-based neural machine translation (Bahdanau, Cho and"
        " Bengio 2015) in TensorFlow.\n\n"
        + "\n\n".join(groups)
        + "\n\nrnnsearch help VERB explains a verb; rnnsearch --version prints the"
        " version.\nResults go to standard output, logs and progress to standard error.\n--quiet"
        " shows errors only, --verbose adds details, --log-file F appends the messages to a"
        " file.\nExit code: 0 done, 1 failed, 2 wrong usage, 75 stopped by SIGTERM and resumable"
        " (train, prepare,\ntranslate-corpus), 130 interrupted by Ctrl-C, 141 the reader of the"
        " output is gone.\nRNNSEARCH_DEBUG=1 shows tracebacks.\n"
        f"Documents: {_documents()}: guide.md, first-hour.md, troubleshooting.md."
    )


def _documents() -> str:
    """Where the documents are: beside the package, or, from a wheel, in the source distribution."""
    beside = pathlib.Path(__file__).parents[2] / "docs"
    found = (beside / "guide.md").exists()
    return str(beside) if found else "docs/ of the source distribution and of a clone"


def _nearest(name, names) -> str:
    """A guess at what was meant: the nearest of the names, or one that begins as it does; or a list
    of them all, as a far guess is worse than none.
    """
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.7)
    close = close or [other for other in sorted(names) if len(name) > 2 and other.startswith(name)]
    return (
        f"; did you mean {close[0]}?" if close else f"; expected one of {', '.join(sorted(names))}"
    )


def _explain(error: Exception) -> int:
    """Print one line about the error; returns the exit code."""
    # raised by print(), which does not name its stream
    if isinstance(error, OSError) and error.filename is None:
        try:
            flush_output()
        except UserError as full:
            error = full
    if isinstance(error, UserError):
        _say(f"{coloured('error:', 'red')} {error}")
        return error.exit_code
    if not isinstance(error, OSError):  # these contain file names, which may be any text
        # TensorFlow wraps exceptions of Python code that it runs.
        if KeyboardInterrupt.__name__ in str(error):
            _say(_stopped(KeyboardInterrupt()))
            return EXIT_INTERRUPTED
        if Terminated.__name__ in str(error):
            _say(_stopped(Terminated()))
            return EXIT_TERMINATED
    if DISK_FULL in str(error):  # Python's own error or one of TensorFlow's, with or without a path
        paths = [word.strip("';:") for word in str(error).split() if word.startswith(("/", "'/"))]
        place = paths[0] if paths else "a disk"
        message = f"error: {place}: {DISK_FULL}; free some there or write elsewhere"
    elif isinstance(error, OSError) and error.filename is not None:
        message = f"error: {error.filename}: {error.strerror or error}"
    elif isinstance(error, UnicodeEncodeError) or "Error converting unicode string" in str(error):
        message = (
            "error: expected names of files and folders in UTF-8 here, got one with other bytes;"
            " rename it"
        )
    else:
        gist = f"{type(error).__name__}: {_gist(str(error))}"
        message = f"unexpected error: {gist} (RNNSEARCH_DEBUG=1 shows where)"
    _say(message)
    return EXIT_FAILED


def _gist(text) -> str:
    """The line of an error's text that states the error: the first one, or, of an error in a
    TensorFlow graph, the last one that is no node.
    """
    lines = [line for line in (_NODE.sub("", line).strip() for line in text.splitlines()) if line]
    causes = [line for line in lines[1:] if not line.startswith(_BOILERPLATE)]
    if causes and (
        lines[0] == "Graph execution error:" or lines[0].endswith("root error(s) found.")
    ):
        return causes[-1]
    return lines[0] if lines else ""


def _stopped(stop: KeyboardInterrupt | Terminated) -> str:
    """What is said of a command that a signal has stopped."""
    if isinstance(stop, KeyboardInterrupt):
        return "interrupted"
    return f"stopped by {str(stop) or 'SIGTERM'}; what is saved can be resumed"


def _say(message):
    with contextlib.suppress(OSError):  # the reader of standard error may be gone, too
        print("rnnsearch: " + " ".join(str(message).split()), file=sys.stderr, flush=True)
