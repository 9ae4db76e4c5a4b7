"""List the trained models that come with the program; --model finds them by name."""

import sys
from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli.shared import wrapped
from rnnsearch_tf.runs.pretrained import pretrained_models
from rnnsearch_tf.runs.folder import Run


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="print the card of this model: data, licence, BLEU"
    )


def run(arguments: Namespace) -> None:
    models = pretrained_models()
    if arguments.name is not None:
        print(Run.open(arguments.name).model_card.read_text(encoding="utf-8"), end="")
        return
    for name, folder in models.items():
        _, purpose, *_ = Run(folder).model_card.read_text(encoding="utf-8").split("\n\n")
        purpose = " ".join(purpose.split())
        print(wrapped(purpose, f"{name}  ", " " * (len(name) + 2)), flush=True)
    if models:
        command = f"rnnsearch translate --model {next(iter(models))}"
        print(f'try one:  echo "Where is my book?" | {command}', file=sys.stderr)
