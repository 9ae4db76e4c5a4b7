"""Export a trained RUN, or an ensemble, under DIR/N: as a SavedModel, raw text in and raw text out,
or as one ONNX file for the small runtime without TensorFlow.

Before DIR/N appears, a fresh process loads the model and its answers are compared with those of the
Python model. An existing version is never overwritten. A failed export leaves nothing that a server
would load, and the next export removes what a killed one has left. A profile is a YAML file with
the options of an export; --set changes one of them. A checkout has examples in export/.
"""

from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli.shared import add_model, whole_number
from rnnsearch_tf.export import publishing
from rnnsearch_tf.runtime.tensorflow import import_tensorflow
from rnnsearch_tf.runs.folder import Run


def arguments(parser: ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "--output",
        required=True,
        metavar="DIR",
        help="folder of the served model; its versions are numbered folders",
    )
    parser.add_argument(
        "--format",
        choices=("savedmodel", "onnx"),
        default="savedmodel",
        help="savedmodel: for TensorFlow Serving (the default); onnx: DIR/N/model.onnx, with"
        " --set weights=int8 small and fast (needs rnnsearch-tf[onnx])",
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
            "options of the export (default: all signatures, the run's own search; confidence needs"
            " a calibrated RUN)"
        ),
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="key=value",
        help="change one option of the profile",
    )


def run(arguments: Namespace) -> None:
    for folder in arguments.model:
        Run.open(folder)  # fail before the slow import of TensorFlow
    import_tensorflow()
    if arguments.format == "onnx":
        from rnnsearch_tf.extras.onnx.writer import export_onnx as export
    else:
        from rnnsearch_tf.export.writer import export_model as export

    exported = export(
        arguments.model,
        arguments.output,
        arguments.version,
        arguments.profile,
        arguments.set,
        arguments.combine,
    )
    print(exported.folder)
    checked = f"{exported.compared} answers checked in a fresh process"
    print(f"{exported.bytes:,} bytes of weights; {checked}")
    for sentence in filter(None, (exported.cost, exported.left_out)):
        print(sentence)
