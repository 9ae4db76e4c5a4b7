"""Add the model's score to a Moses phrase table, `source ||| target ||| scores ||| …`.

Appends two numbers to the scores of each line and leaves the rest as it is:
  p      the model's probability of the target phrase given the source phrase, the end
         symbol included, not length-normalized
  e^n    where n is the number of words of both phrases that the model does not know
Moses takes the logarithm of every score, so its features are log p (natural) and n.

Each distinct pair is scored once. The table is checked before scoring and read as a stream; OUT
appears when it is complete. The phrases are Moses tokens, escaped or not. Standard output has the
line for the section [feature] of moses.ini; TranslationModel0 needs two more weights in the section
[weight].
"""

import os
from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import flags
from rnnsearch_tf.cli.shared import load_translator
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.files.writing import STANDARD_OUTPUT, whole_file
from rnnsearch_tf.runtime.progress import progress


def arguments(parser: ArgumentParser) -> None:
    flags.add_model(parser)
    flags.add_score_batch_size(parser)
    parser.add_argument("table", metavar="IN", help="phrase table, plain or .gz")
    parser.add_argument(
        "output", metavar="OUT", help="the table with the new scores (.gz: compressed)"
    )


def run(arguments: Namespace) -> None:
    from rnnsearch_tf.extras.moses.phrase_table import NEW_SCORES, PhraseTable, moses_ini_line

    if arguments.table == "-":
        raise UsageError(
            "IN: expected a file, as it is read twice, got standard input; write it to a file first"
        )
    if arguments.output in STANDARD_OUTPUT:
        raise UsageError(
            "OUT: expected a file, as standard output has the line for moses.ini, got"
            f" {arguments.output}; name one"
        )
    table = PhraseTable(arguments.table)
    translator = load_translator(arguments)

    def score(sources, targets):
        return translator.score_targets(sources, targets, arguments.batch_size, tokenized=True)

    with whole_file(arguments.output) as output:
        for line in progress(
            table.scored(score), doing="scoring the table", total=table.lines, unit="lines"
        ):
            output.write(line)
    print(moses_ini_line(os.path.abspath(arguments.output), table.scores + NEW_SCORES))
