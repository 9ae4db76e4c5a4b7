"""Add the model's score to a Moses n-best list, or with --phrase-table to a phrase table; other
fields stay the same, byte for byte.

An n-best list has lines `id ||| text ||| features ||| score`; the id is the line number of the
source, from 0; both are Moses tokens. Each line gets `RNN= value` after its features: the natural
logarithm of p(text | source), the end symbol included, not length-normalized. The list is printed.

A phrase table has lines `source ||| target ||| scores ||| …` of tokens. Each line gets two scores,
of which Moses takes the logarithm:
  p      the model's probability of the target phrase given the source phrase, the end
         symbol included, not length-normalized
  e^n    where n is the number of words of both phrases that the model does not know
OUT appears when it is complete.
"""

from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import flags
from rnnsearch_tf.cli.shared import load_translator
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.files.reading import read_all
from rnnsearch_tf.files.writing import whole_file
from rnnsearch_tf.runtime.progress import progress


def arguments(parser: ArgumentParser) -> None:
    flags.add_model(parser)
    parser.add_argument("--source", metavar="SOURCE", help="source sentences of the n-best list")
    flags.add_switch(parser, "--phrase-table", "rescore the phrase table IN, and write OUT")
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="NBEST, or IN and OUT of a phrase table; plain or .gz",
    )


def run(arguments: Namespace) -> None:
    from rnnsearch_tf.extras.moses.nbest import read_nbest, rescored
    from rnnsearch_tf.extras.moses.phrase_table import scored

    files = arguments.files
    expected = 2 if arguments.phrase_table else 1
    if len(files) != expected or arguments.phrase_table is bool(arguments.source):
        raise UsageError(
            "expected --source SOURCE NBEST, or --phrase-table IN OUT, got"
            f" {'--source and ' if arguments.source else ''}{len(files)} file(s)"
        )
    if arguments.phrase_table:
        translator = load_translator(arguments)
        with whole_file(files[1]) as output:
            output.writelines(progress(scored(translator, files[0]), doing="scoring", unit="lines"))
        return
    sources = read_all(arguments.source)
    lists = progress(read_nbest(files[0], len(sources)), doing="rescoring", total=len(sources))
    translator = load_translator(arguments)
    with whole_file(None) as output:
        for lines in rescored(translator, sources, lists):
            output.writelines(lines)
