"""Align the words of sentence pairs, by the model's attention while it is fed the given target.

Each pair gives one line of Pharaoh links `0-0 1-2`, source-target, from 0, without the end symbols.
Every target word is linked to the source word with the highest attention. Under SentencePiece,
links number the words that the pieces form: the attention of a word is the sum over its source
pieces and the mean over its target pieces.

--soft writes one JSON object for each line: source_tokens and target_tokens (with the end symbol
last; pieces under SentencePiece), and alignment with a row for each target token.
"""

import json
from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import arguments as shared
from rnnsearch_tf.files.reading import batches, check_inputs, read_rows
from rnnsearch_tf.files.writing import open_output


def arguments(parser: ArgumentParser) -> None:
    shared.add_model(parser)
    shared.add_switch(parser, "--soft", "write attention weights, as JSON")
    shared.add_output(parser)
    shared.add_pair(parser)


def run(arguments: Namespace) -> None:
    files = (arguments.source, arguments.target)
    check_inputs(files, arguments.output)
    with open_output(arguments.output) as write:
        translator = shared.load_translator(arguments)
        translator.require_attention("align")
        line = _soft if arguments.soft else _hard(translator)
        for batch in batches(read_rows(*files), shared.lines_at_once(translator)):
            sources, targets = zip(*batch)
            write(map(line, translator.score_targets(sources, targets)))


def _hard(translator):
    from rnnsearch_tf.alignment.links import word_links
    from rnnsearch_tf.alignment.pharaoh import as_pharaoh

    pieces = translator.has_pieces
    return lambda scored: as_pharaoh(
        word_links(scored.alignment, scored.source_tokens, scored.target_tokens, pieces)
    )


def _soft(scored) -> str:
    from rnnsearch_tf.alignment.links import as_lists
    from rnnsearch_tf.config import END_ID, SPECIAL_TOKENS

    end = [SPECIAL_TOKENS[END_ID]]
    fields = {
        "source_tokens": scored.source_tokens + end,
        "target_tokens": scored.target_tokens + end,
        "alignment": as_lists(scored.alignment),
    }
    return json.dumps(fields, ensure_ascii=False)
