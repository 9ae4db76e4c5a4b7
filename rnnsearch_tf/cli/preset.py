"""Convert a trained model to a keras-nlp (keras-hub) preset for `Seq2SeqLM.from_preset`.

DIR becomes a preset: configuration, weights, tokenizers and model card. The way back is Python:
RNNSearchSeq2SeqLM.from_preset(DIR).translator.save(RUN).
"""

from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import arguments as shared
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.runtime.tensorflow import import_tensorflow


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("model", metavar="RUN", help="run folder")
    parser.add_argument("folder", metavar="DIR", help="folder to write, new or empty")
    shared.add_settings(parser, "change an option, such as search.beam_size=5; repeatable")


def run(arguments: Namespace) -> None:
    Run.open(arguments.model)
    import_tensorflow()
    from rnnsearch_tf.extras.hub import run_to_preset

    run_to_preset(arguments.model, arguments.folder, arguments.set)
    print(arguments.folder)
