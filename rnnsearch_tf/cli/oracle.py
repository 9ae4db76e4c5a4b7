"""Compute BLEU of an n-best list, for its first hypotheses and for the best choice from it.

Prints two lines, each with its sacreBLEU signature: the list in its current order (before or after
`rescore`), and the oracle, which takes the hypothesis with the highest sentence BLEU for every
sentence and so shows what the best reranking could reach. --chosen writes the oracle's sentences.
"""

import itertools
from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import flags
from rnnsearch_tf.config import TextConfig, check_value
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files.reading import read_all
from rnnsearch_tf.files.writing import Output


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--reference",
        required=True,
        metavar="F",
        help="reference translations, one for each sentence of the list",
    )
    flags.add_switch(
        parser, "--tokenized", "list and reference are already tokenized (tokenize=none)"
    )
    parser.add_argument(
        "--target-language",
        metavar="CODE",
        help=(
            "language of the translations: one without spaces between words is compared by"
            " characters, as in `evaluate` (default: en)"
        ),
    )
    flags.add_switch(parser, "--lowercase", "ignore case; the signature says so")
    parser.add_argument("--chosen", metavar="F", help="write the oracle's sentences to this file")
    parser.add_argument(
        "nbest", metavar="NBEST", help="Moses n-best list, plain or .gz; -: standard input"
    )


def run(arguments: Namespace) -> None:
    if arguments.tokenized and arguments.target_language is not None:
        raise UsageError("--target-language: has no effect with --tokenized; leave it out")
    language = arguments.target_language or "en"
    check_value("target.language", language, "--target-language")
    from rnnsearch_tf.evaluation.bleu import bleu, tokenizer_for
    from rnnsearch_tf.extras.moses.nbest import read_nbest
    from rnnsearch_tf.extras.moses.oracle import choose

    references = read_all(arguments.reference)
    if not references:
        raise UserError(
            f"{arguments.reference}: expected reference translations, got an empty file; check the"
            " path"
        )
    tokenizer = "none" if arguments.tokenized else tokenizer_for(TextConfig(language=language))
    rules = dict(tokenize=tokenizer, lowercase=arguments.lowercase)
    lists = read_nbest(arguments.nbest, len(references))
    first = next(lists, None)
    if first is None:
        raise UserError(
            f"{arguments.nbest}: expected an n-best list, got an empty one; check the path"
        )
    firsts, chosen = choose(itertools.chain([first], lists), references, **rules)
    if arguments.chosen:
        with Output(arguments.chosen) as output:
            output.write(chosen)
    for title, texts in (("first", firsts), ("oracle", chosen)):
        score = bleu(texts, references, **rules)
        print(f"{title:<8}{score.score:6.2f}  {score.signature}")
