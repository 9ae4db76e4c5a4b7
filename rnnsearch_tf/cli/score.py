"""Score sentence pairs: the log-probability of each target sentence given its source, one a line.

The score is the natural logarithm of p(target | source), the end symbol included; higher is better.
It is not length-normalized.
"""

from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import flags
from rnnsearch_tf.cli.shared import line_progress, load_translator
from rnnsearch_tf.files.reading import check_inputs, count_lines, read_pairs
from rnnsearch_tf.files.writing import Output


def arguments(parser: ArgumentParser) -> None:
    flags.add_model(parser)
    parser.add_argument("source", metavar="SOURCE", help="source sentences, plain or .gz")
    parser.add_argument("target", metavar="TARGET", help="target sentences, as many lines")


def run(arguments: Namespace) -> None:
    check_inputs([arguments.source, arguments.target])
    total = count_lines([arguments.source])
    with (
        Output() as output,
        line_progress("scoring", total, None) as bar,
    ):
        translator = load_translator(arguments)
        pairs = read_pairs(arguments.source, arguments.target, translator.config.search.batch_size)
        for sources, targets in pairs:
            for scored in translator.score_targets(sources, targets):
                output.write([f"{scored.log_probability:.6f}"])
            bar.update(len(sources))
