"""Align sentence pairs: where the model looks in the source while it is made to write the target.

One line a pair: Pharaoh links `0-0 1-2`, source-target, from 0, the end symbols
left out; every target word is linked to its most attended source word.

What is numbered is tokens, or where the model has SentencePiece the words that spaces
separate: the attention of a word is the sum over its pieces on the source side, the mean
on the target side. --pieces links the pieces. With --tokenized the lines are Moses tokens,
and these are what is numbered, as `aer` and Moses count them.

--soft gives one JSON object a line instead: source_tokens, target_tokens (the end symbol
last in both; pieces under SentencePiece) and alignment, one row a target token.
"""

import json

from rnnsearch_tf.cli.links import Links, add_pieces
from rnnsearch_tf.cli.shared import add_model, add_output, load_translator
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.io.reading import read_pairs
from rnnsearch_tf.io.writing import Output


def arguments(parser):
    add_model(parser)
    parser.add_argument("--soft", action="store_true", help="the attention weights, as JSON")
    add_pieces(parser)
    parser.add_argument(
        "--tokenized", action="store_true", help="the lines are Moses tokens; without it they are tokenized as for translating"
    )
    add_output(parser)
    parser.add_argument("source", metavar="SOURCE", help="source sentences, plain or .gz")
    parser.add_argument("target", metavar="TARGET", help="target sentences, as many lines")


def run(arguments):
    if arguments.soft and arguments.pieces:
        raise UsageError("--pieces: has no part in --soft, whose tokens are pieces already; leave one out")
    translator = load_translator(arguments)
    translator.require_attention("align")
    links = Links(translator, arguments.pieces)
    with Output(arguments.output) as output:
        for lines in read_pairs(arguments.source, arguments.target, translator.config.search.batch_size):
            pairs = translator.score_targets(*lines, tokenized=arguments.tokenized)
            if arguments.soft:
                output.write(map(_soft, pairs))
            else:
                words = _words(translator, lines) if arguments.tokenized else [(None, None)] * len(pairs)
                output.write(links(p.alignment, p.source_tokens, p.target_tokens, w) for p, w in zip(pairs, words))


def _words(translator, lines):
    """(source words, target words) of each pair, as the model's text handling reads them."""
    from rnnsearch_tf.text.pipeline import strings

    texts = translator.source_text, translator.target_text
    return zip(*(strings(text.words(list(side))) for text, side in zip(texts, lines)))


def _soft(scored) -> str:
    from rnnsearch_tf.config import END_ID, SPECIAL_TOKENS
    from rnnsearch_tf.evaluation.alignment import as_numbers

    end = [SPECIAL_TOKENS[END_ID]]
    fields = {
        "source_tokens": scored.source_tokens + end,
        "target_tokens": scored.target_tokens + end,
        "alignment": as_numbers(scored.alignment, digits=6),
    }
    return json.dumps(fields, ensure_ascii=False)
