"""Plot the attention weights of translations, one PNG a sentence, as in Figure 3 of the paper.

Source words are along the top, target words down the side, weights in grayscale (black 0, white 1).
Prints the name of each picture on a line; an empty sentence has no picture and an empty line. Needs
the extra `plots`.
"""

from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import flags
from rnnsearch_tf.cli.shared import input_batches, load_translator
from rnnsearch_tf.runtime.optional import require
from rnnsearch_tf.files.atomic import make_folder, write_file
from rnnsearch_tf.files.reading import check_inputs
from rnnsearch_tf.files.writing import Output


def arguments(parser: ArgumentParser) -> None:
    flags.add_model(parser)
    flags.add_folder(parser, "folder to write", default="attention")
    flags.add_files(parser, "source sentences")


def run(arguments: Namespace) -> None:
    require("pictures", "matplotlib")
    check_inputs(arguments.files)
    folder = make_folder(arguments.output)
    translator = load_translator(arguments)
    translator.require_attention("plot-attention")
    from rnnsearch_tf.extras.plots.alignment import png

    number = 0
    with Output() as output:
        for texts in input_batches(arguments.files, translator.config.search.batch_size):
            for translation in translator.translate(texts):
                number += 1
                path = folder / f"attention-{number:04d}.png"
                if translation.source_tokens:
                    write_file(path, png(translation.plot()))
                output.write([str(path) if translation.source_tokens else ""])
