"""A trained model as a preset of keras-nlp (keras-hub), for `Seq2SeqLM.from_preset`, or such a
preset as a RUN.

FROM a RUN folder, DIR becomes a preset: configuration, weights, tokenizers, a model card. FROM a
preset of this package, DIR becomes a RUN, for the other verbs.
"""

import pathlib

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.runtime.tensorflow import import_tensorflow
from rnnsearch_tf.runtime.progress import announced
from rnnsearch_tf.runs.folder import Run

PRESET_FILE = "task.json"
"""A folder with this file is a preset."""


def arguments(parser):
    parser.add_argument("model", metavar="FROM", help="RUN folder, or folder of a preset")
    parser.add_argument("folder", metavar="DIR", help="folder to write, which does not exist yet")


def run(arguments):
    preset = (pathlib.Path(arguments.model) / PRESET_FILE).exists()
    if not preset:
        Run.open(arguments.model)
    if pathlib.Path(arguments.folder).exists():
        raise UserError(
            f"{arguments.folder}: expected nothing there yet, found something; choose another"
            " folder"
        )
    import_tensorflow()
    from rnnsearch_tf.extras.hub import preset_to_run, run_to_preset

    with announced("writing the RUN" if preset else "writing the preset"):
        (preset_to_run if preset else run_to_preset)(arguments.model, arguments.folder)
    print(arguments.folder)
