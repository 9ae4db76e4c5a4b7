"""Align sentence pairs: where the model looks in the source while it is made to write the target.

One line a pair: Pharaoh links `0-0 1-2`, source-target, from 0, the end symbols
left out; every target word is linked to its most attended source word. --soft
gives one JSON object a line instead: source_tokens, target_tokens (the end symbol
last in both) and alignment, one row a target token.
"""

import json

from rnnsearch_tf.cli.lines import Output, read_pairs
from rnnsearch_tf.cli.shared import add_model, add_output, load_translator


def arguments(parser):
    add_model(parser)
    parser.add_argument("--soft", action="store_true", help="the attention weights, as JSON")
    add_output(parser)
    parser.add_argument("source", metavar="SOURCE", help="source sentences, plain or .gz")
    parser.add_argument("target", metavar="TARGET", help="target sentences, as many lines")


def run(arguments):
    translator = load_translator(arguments)
    form = _soft if arguments.soft else _hard
    translator.require_attention("align")
    with Output(arguments.output) as output:
        for sources, targets in read_pairs(arguments.source, arguments.target, translator.config.search.batch_size):
            output.write(map(form, translator.force(sources, targets)))


def _hard(forced) -> str:
    from rnnsearch_tf.evaluation.alignment import pharaoh

    return pharaoh(forced.alignment)


def _soft(forced) -> str:
    from rnnsearch_tf.config import END_ID, SPECIAL_TOKENS
    from rnnsearch_tf.evaluation.alignment import as_numbers

    end = [SPECIAL_TOKENS[END_ID]]
    fields = {
        "source_tokens": forced.source_tokens + end,
        "target_tokens": forced.target_tokens + end,
        "alignment": as_numbers(forced.alignment, digits=6),
    }
    return json.dumps(fields, ensure_ascii=False)
