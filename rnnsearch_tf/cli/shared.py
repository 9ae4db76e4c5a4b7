"""Functions that several verbs share: models, input and output files, signals."""

from __future__ import annotations

import argparse
import contextlib
import shutil
import signal
import sys
import textwrap
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import yaml

from rnnsearch_tf.config import saved_config
from rnnsearch_tf.runtime.tensorflow import import_tensorflow
from rnnsearch_tf.files.reading import check_inputs, read_batches
from rnnsearch_tf.runtime.progress import progress
from rnnsearch_tf.runs.folder import Run

if TYPE_CHECKING:
    from tqdm import tqdm

    from rnnsearch_tf.translation import Translator


@contextlib.contextmanager
def sigterm_raises() -> Iterator[None]:
    """Raise KeyboardInterrupt at SIGTERM inside the block; training/interruption.py takes over
    while a model is fitted.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def input_batches(
    names: Sequence[str | int], size: int, hint: str = "check the path"
) -> Iterator[list[str]]:
    """Yield lists of 1 to `size` lines of the files from `add_files`; an int is a file descriptor,
    see :func:`read_batches`.

    Raises:
        UserError: a file is missing; raised at once, before anything is read. The message ends with
            the hint.
    """
    check_inputs(names, hint)
    return (lines for name in names or ["-"] for lines in read_batches(name, size))


def line_progress(doing: str, total: int | None, output: str | None) -> tqdm:
    """A progress bar that counts lines; hidden if their number is unknown, or if the results appear
    on the same terminal.
    """
    on_screen = output in (None, "-") and sys.stdout.isatty()
    return progress(doing=doing, total=total, unit="lines", hidden=total is None or on_screen)


def wrapped(text: str, first: str, rest: str) -> str:
    """Wrap text to the terminal's width, 60 to 120 columns; the prefixes are of the first line and
    of the others.
    """
    width = max(60, min(shutil.get_terminal_size().columns, 120))
    return textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )


def yaml_value(value: Any) -> str:
    """A value in YAML, on one line."""
    return (
        yaml.safe_dump(value, default_flow_style=True, allow_unicode=True)
        .removesuffix("\n...\n")
        .strip()
    )


def load_translator(arguments: argparse.Namespace) -> Translator:
    """Load the RUN of --model, or an ensemble of several, with the options of --set; imports
    TensorFlow.
    """
    runs = [Run.open(run) for run in arguments.model]
    for run in runs:  # fail before the slow import of TensorFlow
        saved_config(run.config, arguments.set)
    import_tensorflow()
    from rnnsearch_tf.translation import Translator

    return Translator.load(runs, arguments.set)
