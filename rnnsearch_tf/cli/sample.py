"""Draw random translations from the model and count duplicates; reads standard input, files or
--sentence.

For each source sentence the distinct samples are written, most probable first, one a line:
sentence number from 0, log-probability, count and text, separated by tabs. The log-probability is
the model's (temperature 1): a natural logarithm, the end symbol included, higher is better, not
length-normalized. Table 3 of Cho et al. 2014a is `-n 50 --top 5`.
"""

from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import flags
from rnnsearch_tf.cli.shared import input_batches, load_translator
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.files.writing import Output

LINES = 64
"""Number of sentences to read at once."""


def arguments(parser: ArgumentParser) -> None:
    flags.add_model(parser)
    parser.add_argument(
        "-n",
        "--number",
        type=flags.whole_number(1),
        metavar="N",
        default=50,
        help="samples for each sentence (default: %(default)s)",
    )
    parser.add_argument(
        "--temperature",
        type=flags.number("a number above 0", flags.above_zero),
        metavar="T",
        default="1",
        help="divide the logits by T; below 1 favours likely translations (default: %(default)s)",
    )
    flags.add_whole_number(
        parser, "--top", "write only the N most probable distinct samples (default: all)"
    )
    flags.add_whole_number(
        parser,
        "--seed",
        "random seed; the same seed gives the same samples",
        minimum=0,
        maximum=2**31 - 1,
        default=1,
    )
    parser.add_argument(
        "--sentence",
        metavar="TEXT",
        action="append",
        help="source sentence, in place of files; may be repeated",
    )
    parser.add_argument("--source", metavar="F", help="the same as FILE")
    flags.add_output(parser)
    flags.add_files(parser, "source sentences")


def run(arguments: Namespace) -> None:
    batches = _batches(arguments)
    translator = load_translator(arguments)
    from rnnsearch_tf.translation.results import distinct

    index = 0
    with Output(arguments.output, [*arguments.files, arguments.source]) as output:
        for texts in batches:
            for samples in translator.sample(
                texts, arguments.number, temperature=arguments.temperature, seed=arguments.seed
            ):
                output.write(
                    f"{index}\t{value:.6f}\t{count}\t{text}"
                    for text, value, count in distinct(samples)[: arguments.top]
                )
                index += 1


def _batches(arguments):
    """Lists of source sentences from the one input that is given."""
    inputs = {
        "FILE": arguments.files,
        "--source": arguments.source,
        "--sentence": arguments.sentence,
    }
    named = [name for name, value in inputs.items() if value]
    if len(named) > 1:
        raise UsageError(f"expected one of {', '.join(inputs)}, got both {' and '.join(named)}")
    if arguments.sentence:
        return [arguments.sentence]
    files = [arguments.source] if arguments.source else arguments.files
    return input_batches(files, LINES, "check the path, or give a sentence with --sentence TEXT")
