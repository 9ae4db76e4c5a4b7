"""Plot learned vectors of words, phrases or sentences; those that the model treats alike are close.

words      rows of the word embedding: the most frequent words of --side
phrases    encodings of the first distinct lines of FILE (Cho et al. 2014a, Figure 5)
sentences  encodings of the first lines of FILE (Sutskever et al. 2014, Figure 2)

The encoding of a sentence is the mean of its annotations for a model with attention, the fixed
context for RNNencdec and the RNN Encoder-Decoder, and the states of all layers after the last word
for deep LSTMs and stacked networks.

Writes DIR/WHAT-METHOD.png and DIR/WHAT-METHOD.tsv and prints their names. A line of the .tsv has
text, x and y, separated by tabs. Every point is drawn; a label that would cover another one is left
out. Needs the extra `plots`.
"""

import itertools
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import Any

from rnnsearch_tf.cli import flags
from rnnsearch_tf.cli.shared import input_batches, load_translator
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.runtime.optional import require
from rnnsearch_tf.files.atomic import make_folder, write_file

WHAT = "words", "phrases", "sentences"
LINES = 256


def arguments(parser: ArgumentParser) -> None:
    flags.add_model(parser, several=False)
    parser.add_argument(
        "--method",
        choices=("tsne", "pca"),
        default="tsne",
        help="t-SNE or principal component analysis (default: %(default)s)",
    )
    parser.add_argument(
        "--side", choices=("source", "target"), help="side of the words (default: source)"
    )
    flags.add_whole_number(
        parser, "--number", "maximum number of lines or most frequent words to plot", default=300
    )
    flags.add_folder(parser, "folder to write", default="vectors")
    parser.add_argument("what", choices=WHAT, help="what to plot")
    flags.add_files(parser, "phrases or sentences of the source language")


def run(arguments: Namespace) -> None:
    if arguments.what == "words" and arguments.files:
        raise UsageError(
            f"words: expected no file, as the words are the vocabulary's, got {arguments.files[0]}"
        )
    if arguments.what != "words" and arguments.side:
        raise UsageError(
            f"--side: expected words with it, got {arguments.what}, which are source text; leave it"
            " out"
        )
    if len(arguments.model) > 1:
        raise UsageError(
            f"--model: expected one model, whose vectors to plot, got {len(arguments.model)}"
        )
    from rnnsearch_tf.extras.plots.alignment import png, vectors_figure

    require("pictures", "matplotlib")
    require("plots of vectors", "sklearn")
    folder = make_folder(arguments.output)
    lines = None if arguments.what == "words" else _lines(arguments)
    translator = load_translator(arguments)
    from rnnsearch_tf.extras.plots.vectors import project, sentence_vectors, word_vectors

    model: Any = translator.model  # a TranslationModel, since one model is named

    if lines is None:
        side = arguments.side or "source"
        texts, vectors = word_vectors(
            model, getattr(translator, f"{side}_text"), side, arguments.number
        )
    else:
        texts = lines
        vectors = sentence_vectors(model, translator.source_text, lines)
    points = project(vectors, arguments.method)
    path = folder / f"{arguments.what}-{arguments.method}"
    write_file(f"{path}.png", png(vectors_figure(points, texts)))
    write_file(
        f"{path}.tsv", "".join(f"{text}\t{x:.6g}\t{y:.6g}\n" for text, (x, y) in zip(texts, points))
    )
    print(f"{path}.png", f"{path}.tsv", sep="\n")


def _lines(arguments) -> list:
    """The first non-empty lines, with single spaces; phrases without duplicates."""
    read = (
        " ".join(line.split()) for batch in input_batches(arguments.files, LINES) for line in batch
    )
    texts: Iterable[str] = filter(None, read)
    if arguments.what == "phrases":
        texts = dict.fromkeys(texts)
    lines = list(itertools.islice(texts, arguments.number + 1))
    if not lines:
        raise UserError(
            f"{' '.join(arguments.files) or 'standard input'}: expected {arguments.what}, got no"
            " line with text"
        )
    if len(lines) > arguments.number:
        print(
            f"plotting the first {arguments.number} {arguments.what}; raise --number for more",
            file=sys.stderr,
        )
    return lines[: arguments.number]
