"""The trained models that come with the program; --model finds them by name."""

import textwrap

from rnnsearch_tf.cli.shared import terminal_width
from rnnsearch_tf.io.writing import Output
from rnnsearch_tf.pretrained import pretrained_models
from rnnsearch_tf.run import Run


def arguments(parser):
    parser.add_argument("name", nargs="?", metavar="NAME", help="print the card of this one: data, licence, BLEU")


def run(arguments):
    models = pretrained_models()
    with Output() as output:
        if arguments.name is not None:
            return output.write(Run.open(arguments.name).model_card.read_text(encoding="utf-8").splitlines())
        for name, folder in models.items():
            column = " " * (len(name) + 2)
            output.write(textwrap.wrap(f"{name}  {_purpose(Run(folder))}", terminal_width(), subsequent_indent=column))
        output.write([f'try one:  echo "Where is my book?" | rnnsearch translate --model {next(iter(models))}'] if models else [])


def _purpose(run):
    """The first paragraph of the card, behind its title."""
    paragraphs = run.model_card.read_text(encoding="utf-8").split("\n\n")
    return " ".join(paragraphs[1].split())
