"""Draw the alignments of translations, one PNG a sentence, as Figure 3 of the paper.

Source words along the top, target words down the side, weights in grayscale
(black 0, white 1). The name of each picture is printed, one a line; an empty
sentence has no picture and an empty line. Needs the extra `plots`.
"""

import pathlib

from rnnsearch_tf.cli.lines import Output, read_batches, read_lines
from rnnsearch_tf.cli.shared import add_model, add_search, load_translator, search_changes
from rnnsearch_tf.errors import UserError


def arguments(parser):
    add_model(parser)
    parser.add_argument("--source", metavar="F", default="-", help="source sentences, plain or .gz (default: standard input)")
    parser.add_argument("--target", metavar="F", help="draw the alignment with these sentences, not with the translations")
    parser.add_argument("--output", metavar="DIR", default="attention", help="folder of the pictures (default: %(default)s)")
    add_search(parser)


def run(arguments):
    from rnnsearch_tf.evaluation.plots import require_plots

    changes = search_changes(arguments)
    require_plots()
    folder = pathlib.Path(arguments.output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder}: expected a folder that can be made, got: {error.strerror}") from None
    translator = load_translator(arguments)
    translator.require_attention("plot-attention")
    number = 0
    with Output() as output:
        for source_tokens, target_tokens, alignment in _sentences(arguments, translator, changes):
            number += 1
            output.write([_draw(folder / f"attention-{number:04d}.png", source_tokens, target_tokens, alignment)])


def _sentences(arguments, translator, changes):
    """Yield (source tokens, target tokens, alignment) of each sentence, in order."""
    if arguments.target:
        for forced in translator.force(read_lines(arguments.source), read_lines(arguments.target)):
            yield forced.source_tokens, forced.target_tokens, forced.alignment
        return
    for texts in read_batches(arguments.source, translator.search_config(**changes).batch_size):
        for translation in translator.translate(texts, **changes):
            yield translation.source_tokens, translation.tokens, translation.alignment


def _draw(path, source_tokens, target_tokens, alignment) -> str:
    from rnnsearch_tf.config import END_ID, SPECIAL_TOKENS
    from rnnsearch_tf.evaluation.plots import save_alignment

    if not source_tokens:
        return ""
    end = [SPECIAL_TOKENS[END_ID]]
    save_alignment(path, alignment, source_tokens + end, target_tokens + end)
    return str(path)
