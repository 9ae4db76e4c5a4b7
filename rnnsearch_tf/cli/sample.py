"""Draw random translations from the model and count duplicates; reads standard input or files.

For each source sentence the distinct samples are written, most probable first, one a line:
sentence number from 0, log-probability, count and text, separated by tabs. The log-probability is
a natural logarithm, the end symbol included, higher is better, not length-normalized. The same
sentence always gets the same samples. Table 3 of Cho et al. 2014a has the five most probable of 50:
`-n 50`.
"""

from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import arguments as shared
from rnnsearch_tf.files.reading import check_inputs
from rnnsearch_tf.files.writing import open_output


def arguments(parser: ArgumentParser) -> None:
    shared.add_model(parser)
    shared.add_number(parser, "-n", "samples for each sentence", default=10)
    shared.add_files(parser, "source sentences")


def run(arguments: Namespace) -> None:
    check_inputs(arguments.files)
    batches = shared.input_batches(arguments.files, size=64)
    with open_output() as write:
        translator = shared.load_translator(arguments)
        from rnnsearch_tf.translation.results import distinct

        drawn = (each for texts in batches for each in translator.sample(texts, arguments.n))
        for number, samples in enumerate(drawn):
            write(
                f"{number}\t{log_probability:.6f}\t{count}\t{text}"
                for text, log_probability, count in distinct(samples)
            )
