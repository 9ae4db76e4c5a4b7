"""Score sentence pairs: the log-probability of each target sentence given its source, one a line.

The score is the natural logarithm of p(target | source), the end symbol included; higher is better.
It is not length-normalized.
"""

from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import arguments as shared
from rnnsearch_tf.files.reading import batches, check_inputs, read_rows
from rnnsearch_tf.files.writing import open_output


def arguments(parser: ArgumentParser) -> None:
    shared.add_model(parser)
    shared.add_pair(parser)


def run(arguments: Namespace) -> None:
    files = (arguments.source, arguments.target)
    check_inputs(files)
    with open_output() as write, shared.line_progress("scoring", files) as bar:
        translator = shared.load_translator(arguments)
        for batch in batches(read_rows(*files), shared.lines_at_once(translator)):
            sources, targets = zip(*batch)
            scores = translator.score(sources, targets)
            write(f"{score:.6f}" for score in scores)
            bar.update(len(scores))
