"""Draw random translations from the model and count duplicates; reads standard input or files.

For each source sentence the distinct samples are written, most probable first, one a line:
sentence number from 0, log-probability, count and text, separated by tabs. The log-probability is
a natural logarithm, the end symbol included, higher is better, not length-normalized. The same
sentence always gets the same samples. Table 3 of Cho et al. 2014a has the five most probable of 50:
`-n 50`.
"""

from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import flags
from rnnsearch_tf.cli.shared import input_batches, load_translator
from rnnsearch_tf.files.writing import Output

LINES = 64
"""Number of sentences to read at once."""


def arguments(parser: ArgumentParser) -> None:
    flags.add_model(parser)
    flags.add_whole_number(parser, "-n", "samples for each sentence", default=10)
    flags.add_files(parser, "source sentences")


def run(arguments: Namespace) -> None:
    batches = input_batches(arguments.files, LINES)
    translator = load_translator(arguments)
    from rnnsearch_tf.translation.results import distinct

    index = 0
    with Output() as output:
        for texts in batches:
            for samples in translator.sample(texts, arguments.n):
                output.write(
                    f"{index}\t{value:.6f}\t{count}\t{text}"
                    for text, value, count in distinct(samples)
                )
                index += 1
