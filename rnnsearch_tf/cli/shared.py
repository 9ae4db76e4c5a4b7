"""What several verbs have in common: naming the run, search options, the output file, being told to
end.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import math
import shutil
import signal
import sys
import textwrap
import threading

import yaml

from rnnsearch_tf.config import SearchConfig, check_value, saved_config
from rnnsearch_tf.config.yaml_files import read_value
from rnnsearch_tf.errors import Terminated
from rnnsearch_tf.runtime.tensorflow import import_tensorflow
from rnnsearch_tf.files.reading import check_inputs, read_batches
from rnnsearch_tf.runtime.progress import announced, progress
from rnnsearch_tf.runs.folder import Run

MEANINGS = {field.name: field.metadata["meaning"] for field in dataclasses.fields(SearchConfig)}

SEARCH_FLAGS = {
    field.metadata["flag"]: field.name
    for field in dataclasses.fields(SearchConfig)
    if field.metadata["flag"]
}
"""Flags that take a value, and the search option each of them sets."""


@contextlib.contextmanager
def sigterm_raises():
    """Inside, SIGTERM raises Terminated at once; while a model is fitted, training/interruption.py
    sees to it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(number, frame):
        raise Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class StoreOnce(argparse.Action):
    """What `store` is, of a flag that may be given once: a second value would take the place of the
    first without a word.
    """

    _stored_in = None  # the namespace of the command line that is being read

    def __call__(self, parser, namespace, values, option_string=None):
        if option_string and self._stored_in is namespace:
            raise argparse.ArgumentError(
                self, f"expected once, got it again with {values!r}; leave one out"
            )
        self._stored_in = namespace
        setattr(namespace, self.dest, values)


def add_model(parser):
    parser.add_argument(
        "--model",
        action="append",
        required=True,
        metavar="RUN",
        help=(
            "folder that `rnnsearch train` wrote, or a name of `rnnsearch models`; several form an"
            " ensemble"
        ),
    )
    parser.add_argument(
        "--combine",
        choices=("probabilities", "log_probabilities"),
        default="probabilities",
        help=(
            "what an ensemble averages: the members' probabilities (the default) or, geometrically,"
            " their logarithms"
        ),
    )


def add_output(parser):
    parser.add_argument(
        "--output",
        metavar="F",
        help="write the results to this file (.gz: compressed), not to standard output",
    )


def add_files(parser, purpose="text to translate"):
    """Where a text verb reads: the named files, one after the other, or standard input."""
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help=f"{purpose}, plain or .gz; none or -: standard input",
    )


def input_batches(names, size, hint="check the path"):
    """Yield lists of 1 to `size` lines of the files that `add_files` took; an int is a descriptor,
    see :func:`read_batches`.

    Raises:
        UserError: at once, before anything is read: a file is missing; the message ends with the
            hint.
    """
    check_inputs(names, hint)
    return (lines for name in names or ["-"] for lines in read_batches(name, size))


def lines_done(doing, total, output):
    """A progress bar of lines; hidden if how many there are is not known, or if the results come on
    the same terminal.
    """
    on_screen = output in (None, "-") and sys.stdout.isatty()
    return progress(doing=doing, total=total, unit="lines", hidden=total is None or on_screen)


def add_pairs_at_once(parser):
    parser.add_argument(
        "--batch-size",
        type=whole_number(1),
        metavar="N",
        default=256,
        help="pairs scored at once (default: %(default)s)",
    )


def add_search(parser):
    """The options of beam search that differ for one call; what each means is said in options.py
    only.
    """
    for flag, name in SEARCH_FLAGS.items():
        metavar = {
            "length_penalty": "A",
            "coverage_penalty": "B",
            "lexicon": "F",
            "shortlist": "F",
        }.get(name, "N")
        parser.add_argument(
            flag,
            metavar=metavar,
            help=f"{MEANINGS[name]} (default: the run's search.{name})".replace("%", "%%"),
        )
    parser.add_argument(
        "--no-unknown",
        action="store_true",
        help=(
            "never produce the unknown word (under search.shrinking_beam: only where the search"
            " ends with nothing else)"
        ),
    )
    parser.add_argument("--replace-unknown", action="store_true", help=MEANINGS["replace_unknown"])


def search_changes(arguments) -> dict:
    """The search options that the command line sets, checked; for `Translator.translate`."""
    changes = {}
    for flag, name in SEARCH_FLAGS.items():
        text = getattr(arguments, name)
        if text is not None:
            changes[name] = option_value(f"search.{name}", text, flag)
    if arguments.no_unknown:
        changes["allow_unknown"] = False
    if arguments.replace_unknown:
        changes["replace_unknown"] = True
    return changes


def wrapped(text, first, rest) -> str:
    """Running text in lines of 60 to 120 columns, as the terminal has; `first` and `rest` stand
    before its first line and the others.
    """
    width = max(60, min(shutil.get_terminal_size().columns, 120))
    return textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )


def option_value(name, text, flag):
    """The text of a flag as the value of a configuration option, checked as there."""
    if name in ("search.lexicon", "search.shortlist"):
        return text
    return check_value(name, read_value(text), flag)


def yaml_value(value) -> str:
    """A value as it stands in a YAML file, on one line."""
    return (
        yaml.safe_dump(value, default_flow_style=True, allow_unicode=True)
        .removesuffix("\n...\n")
        .strip()
    )


def whole_number(minimum=0, maximum=math.inf):
    """The `type` of an argument that is no configuration option but a whole number."""
    limits = f", at least {minimum}" if maximum == math.inf else f" from {minimum} to {maximum}"
    return number(f"a whole number{limits}", lambda value: minimum <= value <= maximum, int)


def number(expected, fine, kind=float):
    """The `type` of an argument that is a number.

    Args:
        expected: what an error says was expected.
        fine: function that says whether a number will do.
        kind: float or int.
    """

    def read(text):
        with contextlib.suppress(ValueError):
            if fine(value := kind(text)):
                return value
        raise argparse.ArgumentTypeError(f"expected {expected}, got {text!r}")

    return read


def above_zero(value) -> bool:
    """Whether a number is above 0, and finite."""
    return 0 < value < math.inf


def load_translator(arguments):
    """The model that --model names, or the ensemble of several; imports TensorFlow."""
    runs = [Run.open(run) for run in arguments.model]  # before TensorFlow takes its seconds
    import_tensorflow()
    from rnnsearch_tf.runtime.cores import use_one_thread_per_op
    from rnnsearch_tf.translation import Translator

    configs = [saved_config(run.config) for run in runs]
    use_one_thread_per_op([config.model for config in configs], configs[0].search.batch_size)
    with announced("loading the model"):
        return Translator.load(runs, combine=arguments.combine)
