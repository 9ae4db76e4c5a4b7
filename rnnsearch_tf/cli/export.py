"""Export a trained RUN, or an ensemble, as a SavedModel, raw text in and raw text out, under DIR/N.

Before DIR/N appears, a fresh process loads the model into a session and its
answers are compared with the Python model's. An existing version is never
overwritten; a failed export leaves nothing that a server would load, and the next
one clears away what a killed one has left. The options of
a profile are those of the files in export/; --set changes one.
"""

from rnnsearch_tf.cli.shared import add_model, whole_number
from rnnsearch_tf.export import publishing
from rnnsearch_tf.runtime.tensorflow import import_tensorflow
from rnnsearch_tf.runs.folder import Run


def arguments(parser):
    add_model(parser)
    parser.add_argument(
        "--output",
        required=True,
        metavar="DIR",
        help="folder of the served model; its versions are numbered folders",
    )
    parser.add_argument(
        "--version",
        type=whole_number(1, publishing.LARGEST_VERSION),
        metavar="N",
        help="number of the version (default: the next one)",
    )
    parser.add_argument(
        "--profile",
        metavar="F.yaml",
        help=(
            "what to export (default: every signature, the run's own search; confidence needs a"
            " calibrated RUN)"
        ),
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="key=value",
        help="change one option of the profile",
    )


def run(arguments):
    for folder in arguments.model:
        Run.open(folder)  # before TensorFlow takes its seconds
    import_tensorflow()
    from rnnsearch_tf.export.writer import export_model

    exported = export_model(
        arguments.model,
        arguments.output,
        arguments.version,
        arguments.profile,
        arguments.set,
        arguments.combine,
    )
    print(exported.folder)
    print(
        f"{exported.bytes:,} bytes of weights; {exported.compared} answers checked in a fresh"
        " session"
    )
    for sentence in filter(None, (exported.cost, exported.left_out)):
        print(sentence)
