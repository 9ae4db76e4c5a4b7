"""Score sentence pairs: the log-probability of each target sentence given its source, one a line.

The score is the natural logarithm of p(target | source), the end symbol included; higher is better.
It is not length-normalized; --normalize divides it by the number of target tokens, the end symbol
included.
"""

from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import flags
from rnnsearch_tf.cli.shared import line_progress, load_translator
from rnnsearch_tf.files.reading import check_pairs, count_lines, read_pairs
from rnnsearch_tf.files.writing import Output, check_output


def arguments(parser: ArgumentParser) -> None:
    flags.add_model(parser)
    flags.add_switch(
        parser, "--normalize", "divide by the target's length, the end symbol included"
    )
    flags.add_output(parser)
    parser.add_argument("source", metavar="SOURCE", help="source sentences, plain or .gz")
    parser.add_argument("target", metavar="TARGET", help="target sentences, as many lines")


def run(arguments: Namespace) -> None:
    check_pairs(arguments.source, arguments.target)
    check_output(arguments.output, [arguments.source, arguments.target])
    translator = load_translator(arguments)
    total = count_lines([arguments.source])
    pairs = read_pairs(arguments.source, arguments.target, translator.config.search.batch_size)
    with (
        Output(arguments.output, [arguments.source, arguments.target]) as output,
        line_progress("scoring", total, arguments.output) as bar,
    ):
        for sources, targets in pairs:
            for scored in translator.score_targets(sources, targets):
                length = len(scored.target_tokens) + 1 if arguments.normalize else 1
                output.write([f"{scored.log_probability / length:.6f}"])
            bar.update(len(sources))
