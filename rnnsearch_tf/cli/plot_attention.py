"""Plot the attention weights of translations, one PNG a sentence, as in Figure 3 of the paper.

Source words are along the top, target words down the side, weights in grayscale (black 0, white 1).
Prints the name of each picture on a line; an empty sentence has no picture and an empty line. Needs
the extra `plots`.
"""

from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import flags
from rnnsearch_tf.cli.shared import input_batches, load_translator, search_changes
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.runtime.optional import require
from rnnsearch_tf.files.atomic import make_folder, write_file
from rnnsearch_tf.files.reading import check_inputs, check_pairs, read_pairs
from rnnsearch_tf.files.writing import Output


def arguments(parser: ArgumentParser) -> None:
    flags.add_model(parser)
    parser.add_argument("--source", metavar="F", help="the same as FILE")
    parser.add_argument(
        "--target",
        metavar="F",
        help="plot the alignment with these target sentences, not with translations",
    )
    flags.add_folder(parser, "folder to write", default="attention")
    flags.add_search(parser)
    flags.add_files(parser, "source sentences")


def run(arguments: Namespace) -> None:
    files = _files(arguments)
    changes = search_changes(arguments)
    if arguments.target and (changes.keys() - {"batch_size"}):
        raise UsageError(
            "--target: expected no search option with it, as nothing is translated; leave one out"
        )
    require("pictures", "matplotlib")
    if arguments.target:
        check_pairs(files[0] if files else "-", arguments.target)
    else:
        check_inputs(files)
    folder = make_folder(arguments.output)
    translator = load_translator(arguments)
    translator.require_attention("plot-attention")
    from rnnsearch_tf.extras.plots.alignment import png

    sentences = _sentences(files, arguments.target, translator, changes)
    with Output() as output:
        for number, sentence in enumerate(sentences, start=1):
            path = folder / f"attention-{number:04d}.png"
            if sentence.source_tokens:
                write_file(path, png(sentence.plot()))
            output.write([str(path) if sentence.source_tokens else ""])


def _files(arguments) -> list:
    """The files of source sentences; at most one if target sentences are given."""
    if arguments.source and arguments.files:
        raise UsageError("expected source sentences in FILE or in --source, got both")
    files = [arguments.source] if arguments.source else arguments.files
    if arguments.target and len(files) > 1:
        raise UsageError(
            f"--target: expected one FILE of source sentences with it, got {len(files)}"
        )
    return files


def _sentences(files, target, translator, changes):
    """Yield the Translation or the ScoredPair of each sentence, in order."""
    batch_size = translator.search_config(**changes).batch_size
    if target:
        for sources, targets in read_pairs(files[0] if files else "-", target, batch_size):
            yield from translator.score_targets(sources, targets)
        return
    for texts in input_batches(files, batch_size):
        yield from translator.translate(texts, **changes)
