"""Compute the alignment error rate, precision and recall against reference alignments.

Each line has the links of one sentence, source-target. Both files number words from the same
start. In GOLD, `1-2` is a sure link and `1p2` a possible one; HYPOTHESIS is the output of `align`.
AER = 1 − (|A∩S| + |A∩P|) / (|A| + |S|), over all sentences; lower is better.
"""

from argparse import ArgumentParser, Namespace

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.reading import read_rows


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("gold", metavar="GOLD", help="reference alignments, plain or gzip")
    parser.add_argument(
        "hypothesis", metavar="HYPOTHESIS", help="alignments to evaluate, as many lines"
    )


def run(arguments: Namespace) -> None:
    from rnnsearch_tf.alignment.pharaoh import LinkCounts, gold_links, hypothesis_links

    counts = LinkCounts()
    pairs = read_rows(arguments.gold, arguments.hypothesis)
    for number, (gold, hypothesis) in enumerate(pairs, start=1):
        sure, possible = _read(gold_links, gold, arguments.gold, number)
        counts.add(
            sure, possible, _read(hypothesis_links, hypothesis, arguments.hypothesis, number)
        )
    if not counts.sentences:
        raise UserError(f"{arguments.gold}: expected alignments, got an empty file")
    print(f"AER       {counts.error_rate:.4f}")
    print(f"precision {counts.precision:.4f}")
    print(f"recall    {counts.recall:.4f}")


def _read(read, line, name, number):
    try:
        return read(line)
    except UserError as error:
        raise UserError(f"{name}:{number}: {error}") from None
