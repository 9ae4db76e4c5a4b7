"""Add the model's score to a Moses n-best list, or with --phrase-table to a phrase table. Other
fields stay the same.

An n-best list has lines `id ||| text ||| features ||| score`; the id is the line number of the
source, from 0; both are Moses tokens. Each line gets `RNN= value` after its features: the natural
logarithm of p(text | source), the end symbol included, not length-normalized. The list is printed.

A phrase table has lines `source ||| target ||| scores ||| …` of tokens. Each line gets two scores,
of which Moses takes the logarithm:
  p      the model's probability of the target phrase given the source phrase, the end
         symbol included, not length-normalized
  e^n    where n is the number of words of both phrases that the model does not know
"""

from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import arguments as shared
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.files.reading import check_inputs, read_lines
from rnnsearch_tf.files.writing import open_output


def arguments(parser: ArgumentParser) -> None:
    shared.add_model(parser)
    parser.add_argument("--source", metavar="SOURCE", help="source sentences of the n-best list")
    shared.add_switch(parser, "--phrase-table", "rescore the phrase table IN, and write OUT")
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="NBEST, or IN and OUT of a phrase table; UTF-8, plain or gzip",
    )


def run(arguments: Namespace) -> None:
    files = arguments.files
    expected = 2 if arguments.phrase_table else 1
    if len(files) != expected or arguments.phrase_table is bool(arguments.source):
        raise UsageError(
            "expected --source SOURCE NBEST, or --phrase-table IN OUT, got"
            f" {'--source and ' if arguments.source else ''}{len(files)} file(s)"
        )
    check_inputs(files[:1], *files[1:])
    with open_output(files[1] if arguments.phrase_table else None) as write:
        with shared.line_progress("rescoring", files[:1], *files[1:]) as bar:
            for lines in _rescored(arguments):
                write(lines)
                bar.update(len(lines))


def _rescored(arguments):
    """Yield lists of lines."""
    from rnnsearch_tf.extras.moses.nbest import read_nbest, rescored
    from rnnsearch_tf.extras.moses.phrase_table import scored

    if arguments.phrase_table:
        return scored(shared.load_translator(arguments), arguments.files[0])
    sources = list(read_lines(arguments.source))
    lists = read_nbest(arguments.files[0], len(sources))
    return rescored(shared.load_translator(arguments), sources, lists)
