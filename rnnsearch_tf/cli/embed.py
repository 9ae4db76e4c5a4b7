"""Plots of learned vectors: words, phrases or sentences, near each other where the model takes them
for alike.

words      rows of the word embedding, the most frequent words of --side
phrases    what the encoder makes of each distinct line of FILE (Cho et al. 2014a, Figure 5)
sentences  the same of every line (Sutskever et al. 2014, Figure 2)

A sentence is the mean of its annotations where the model attends; the fixed context of RNNencdec
and the RNN Encoder-Decoder; of deep LSTMs and stacked networks the states of all layers after the
last word.

Two files are written, DIR/WHAT-METHOD.png and .tsv, and their names printed; a line of the second
is text, x and y, with tabs between. Every point is drawn; labels that would cover another are left
out. Needs the extra `plots`.
"""

import itertools

from rnnsearch_tf.cli.shared import (
    add_files,
    add_model,
    input_batches,
    load_translator,
    whole_number,
)
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.runtime.optional import require
from rnnsearch_tf.files.atomic import make_folder, write_file

WHAT = "words", "phrases", "sentences"
LINES = 256


def arguments(parser):
    add_model(parser)
    parser.add_argument(
        "--method",
        choices=("tsne", "pca"),
        default="tsne",
        help="t-SNE or principal components (default: %(default)s)",
    )
    parser.add_argument(
        "--side", choices=("source", "target"), help="whose words (default: source)"
    )
    parser.add_argument(
        "--number",
        type=whole_number(1),
        metavar="N",
        default=300,
        help="points at most: the most frequent words, the first lines (default: %(default)s)",
    )
    parser.add_argument(
        "--output",
        metavar="DIR",
        default="vectors",
        help="folder of the files (default: %(default)s)",
    )
    parser.add_argument("what", choices=WHAT, help="what is plotted")
    add_files(parser, "phrases or sentences of the source language")


def run(arguments):
    if arguments.what == "words" and arguments.files:
        raise UsageError(
            f"words: expected no file, as they are the vocabulary's, got {arguments.files[0]}"
        )
    if arguments.what != "words" and arguments.side:
        raise UsageError(
            f"--side: expected words beside it, got {arguments.what}, which are of the source"
        )
    if len(arguments.model) > 1:
        raise UsageError(
            f"--model: expected one, whose vectors are plotted, got {len(arguments.model)}"
        )
    from rnnsearch_tf.extras.plots.alignment import png, vectors_figure

    require("pictures", "matplotlib")
    require("plots of vectors", "sklearn")
    folder = make_folder(arguments.output)
    lines = None if arguments.what == "words" else _lines(arguments)
    translator = load_translator(arguments)
    from rnnsearch_tf.extras.plots.vectors import project, sentence_vectors, word_vectors

    if lines is None:
        side = arguments.side or "source"
        texts, vectors = word_vectors(
            translator.model, getattr(translator, f"{side}_text"), side, arguments.number
        )
    else:
        texts = lines
        vectors = sentence_vectors(translator.model, translator.source_text, lines)
    points = project(vectors, arguments.method)
    path = folder / f"{arguments.what}-{arguments.method}"
    write_file(f"{path}.png", png(vectors_figure(points, texts)))
    write_file(
        f"{path}.tsv", "".join(f"{text}\t{x:.6g}\t{y:.6g}\n" for text, (x, y) in zip(texts, points))
    )
    print(f"{path}.png", f"{path}.tsv", sep="\n")


def _lines(arguments) -> list:
    """The first lines with text, white space as single spaces; of phrases each once."""
    read = (
        " ".join(line.split()) for batch in input_batches(arguments.files, LINES) for line in batch
    )
    lines = filter(None, read)
    if arguments.what == "phrases":
        lines = dict.fromkeys(lines)
    found = list(itertools.islice(lines, arguments.number))
    if not found:
        raise UserError(
            f"{' '.join(arguments.files) or 'standard input'}: expected {arguments.what}, got no"
            " line with text"
        )
    return found
