"""The trained models that come with the program; --model finds them by name."""

from rnnsearch_tf.cli.shared import wrapped
from rnnsearch_tf.runs.pretrained import pretrained_models
from rnnsearch_tf.runs.folder import Run


def arguments(parser):
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="print the card of this one: data, licence, BLEU"
    )


def run(arguments):
    models = pretrained_models()
    if arguments.name is not None:
        return print(Run.open(arguments.name).model_card.read_text(encoding="utf-8"), end="")
    for name, folder in models.items():
        print(wrapped(_purpose(Run(folder)), f"{name}  ", " " * (len(name) + 2)))
    if models:
        print(
            f'try one:  echo "Where is my book?" | rnnsearch translate --model {next(iter(models))}'
        )


def _purpose(run):
    """The first paragraph of the card, behind its title."""
    paragraphs = run.model_card.read_text(encoding="utf-8").split("\n\n")
    return " ".join(paragraphs[1].split())
