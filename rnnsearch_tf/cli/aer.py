"""Alignment error rate, precision and recall of alignments against links made by hand.

A line a sentence, source-target, both files counting from the same number: `1-2` a
sure link, `1p2` a possible one (GOLD only). The hypothesis is what `align` writes.
AER = 1 − (|A∩S| + |A∩P|) / (|A| + |S|), over all sentences; lower is better.
"""

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.reading import read_pairs

LINES = 1000


def arguments(parser):
    parser.add_argument("gold", metavar="GOLD", help="links made by hand, plain or .gz")
    parser.add_argument("hypothesis", metavar="HYPOTHESIS", help="links to judge, as many lines")


def run(arguments):
    from rnnsearch_tf.alignment.aer import LinkCounts, gold_links, hypothesis_links

    counts = LinkCounts()
    for lines in read_pairs(arguments.gold, arguments.hypothesis, LINES):
        for gold, hypothesis in zip(*lines):
            number = counts.sentences + 1
            links = (
                _read(gold_links, gold, arguments.gold, number),
                _read(hypothesis_links, hypothesis, arguments.hypothesis, number),
            )
            counts.add(*links[0], links[1])
    if not counts.sentences:
        raise UserError(f"{arguments.gold}: expected alignments, got an empty file")
    for name, value in (
        ("AER", counts.error_rate),
        ("precision", counts.precision),
        ("recall", counts.recall),
    ):
        print(f"{name:<10}{value:.4f}")


def _read(read, line, name, number):
    try:
        return read(line)
    except UserError as error:
        raise UserError(f"{name}:{number}: {error}") from None
