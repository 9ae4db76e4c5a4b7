"""Run an end-to-end demo on the built-in English-French corpus, in a few minutes on two cores.

It shows each command that it runs: it trains configs/phrasebook.yaml, translates and evaluates
held-out sentences, plots the alignment of a sentence whose adjective changes place, exports the
model, serves it, and queries it over gRPC. An interrupted demo is resumed. Any other training in
DIR is left untouched.
"""

import pathlib
import shlex
import shutil
import socket
import subprocess
import sys
from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import arguments as shared
from rnnsearch_tf.files.atomic import write_file
from rnnsearch_tf.runs.folder import Run

REORDERED = "Our sick sisters opened this blue door."
"""The sentence to plot, a held-out one: nos sœurs malades, cette porte bleue."""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--output",
        default="runs/demo",
        metavar="DIR",
        help="folder to write the trained model to (default: %(default)s)",
    )
    shared.add_settings(parser, "change one setting of the training; repeatable")


def run(arguments: Namespace) -> None:
    run = Run(arguments.output)
    settings = [word for setting in arguments.set for word in ("--set", setting)]
    resume = ["--resume"] if run.checkpoint.exists() else []
    quiet = ["--quiet"] * arguments.quiet
    _show("train", "--config", "phrasebook", "--output", run, *settings, *resume, *quiet)
    from rnnsearch_tf.data.phrasebook import PARTS, phrasebook

    texts = dict(zip(("en", "fr"), phrasebook(PARTS["test"], "test")))
    source, reference = (run.path / f"test.{language}" for language in texts)
    for path, lines in zip((source, reference), texts.values()):
        write_file(path, "".join(f"{line}\n" for line in lines))
    write_file(run.examples, "".join(f"{line}\n" for line in [REORDERED, *texts["en"][:5]]))
    model = ("--model", run, *quiet)
    _show("translate", *model, run.examples)
    _show("evaluate", *model, "--source", source, "--reference", reference)
    _show("plot-attention", *model, "--output", run.path / "attention", run.examples)
    _show("export", *model, "--output", run.path / "served")
    _serve(run)


def _show(*words: object) -> None:
    """Print a command and run it."""
    from rnnsearch_tf.cli import main

    command = [str(word) for word in words]
    print(f"\n$ rnnsearch {shlex.join(command)}", flush=True)
    main.dispatch(command)


def _serve(run: Run) -> None:
    """Serve the export in a process of its own, and query it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    words = ["serve", "--model-name", "demo", "--model-base-path", str(run.path / "served")]
    words += ["--port", port]
    print(f"\n$ rnnsearch {shlex.join(words)} &", flush=True)
    program = [sys.executable, "-m", "rnnsearch_tf", *words, "--rest-api-port", "0"]
    server = subprocess.Popen(program, stderr=subprocess.DEVNULL)
    try:
        _show("client", "--server", f"127.0.0.1:{port}", "--model-name", "demo", run.examples)
    finally:
        server.terminate()
        server.wait()
    print(f"\nThe pictures are in {run.path / 'attention'}. Your turn, for example:")
    command = "rnnsearch"
    if not shutil.which(command):  # its environment is not active
        command = str(pathlib.Path(sys.executable).with_name(command))
    print(f"  echo 'My sister sells an old book.' | {command} translate --model {run}")
    print(f"  {command} init mine --source train.en --target train.fr  # two files of your own")
