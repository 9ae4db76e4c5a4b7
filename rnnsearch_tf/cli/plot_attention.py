"""Plot the attention weights of translations, one PNG a sentence, as in Figure 3 of the paper.

Source words are along the top, target words down the side, weights in grayscale (black 0, white 1).
Prints the name of each picture on a line; an empty sentence has no picture and an empty line. Needs
the extra `plots`.
"""

from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import arguments as shared
from rnnsearch_tf.files.atomic import make_folder, write_file
from rnnsearch_tf.files.reading import check_inputs
from rnnsearch_tf.files.writing import open_output
from rnnsearch_tf.runtime.optional import require


def arguments(parser: ArgumentParser) -> None:
    shared.add_model(parser)
    parser.add_argument(
        "--output",
        default="attention",
        metavar="DIR",
        help="folder to write (default: %(default)s)",
    )
    shared.add_files(parser, "source sentences")


def run(arguments: Namespace) -> None:
    require("pictures", "matplotlib")
    check_inputs(arguments.files)
    batches = shared.input_batches(arguments.files, size=64)
    folder = make_folder(arguments.output)
    translator = shared.load_translator(arguments)
    translator.require_attention("plot-attention")
    from rnnsearch_tf.alignment.figure import png

    translations = (each for texts in batches for each in translator.translate(texts))
    with open_output() as write:
        for number, translation in enumerate(translations, start=1):
            path = folder / f"attention-{number:04d}.png"
            if translation.source_tokens:
                write_file(path, png(translation.plot()))
            write([str(path) if translation.source_tokens else ""])
