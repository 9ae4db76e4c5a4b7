"""Convert a trained model to a keras-nlp (keras-hub) preset for `Seq2SeqLM.from_preset`, or back.

If FROM is a RUN folder, DIR becomes a preset: configuration, weights, tokenizers and model card. If
FROM is a preset of this package, DIR becomes a RUN for the other verbs.
"""

import pathlib
from argparse import ArgumentParser, Namespace

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.runtime.tensorflow import import_tensorflow
from rnnsearch_tf.runs.folder import Run

PRESET_FILE = "task.json"
"""The file that marks a folder as a preset."""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("model", metavar="FROM", help="RUN folder, or folder of a preset")
    parser.add_argument("folder", metavar="DIR", help="folder to write; it must not exist")


def run(arguments: Namespace) -> None:
    preset = (pathlib.Path(arguments.model) / PRESET_FILE).exists()
    if not preset:
        Run.open(arguments.model)
    if pathlib.Path(arguments.folder).exists():
        raise UserError(
            f"{arguments.folder}: expected a new folder, found an existing one; choose another name"
        )
    import_tensorflow()
    from rnnsearch_tf.extras.hub import preset_to_run, run_to_preset

    (preset_to_run if preset else run_to_preset)(arguments.model, arguments.folder)
    print(arguments.folder)
