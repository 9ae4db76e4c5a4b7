"""Export a trained RUN, or an ensemble, under DIR/N: as a SavedModel, raw text in and raw text out,
or as one ONNX file, ids in and out.

Before DIR/N appears, the exported model's answers are compared with those of the Python model: of a
SavedModel in a fresh process; of an ONNX file only if its weights are float32. An existing version
is never overwritten, and a failed export leaves nothing that a server would load. A profile is a
YAML file with the options of an export; --set changes one of them. A checkout has examples in
export/.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import arguments as shared
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.runtime.optional import require
from rnnsearch_tf.runtime.tensorflow import import_tensorflow


def arguments(parser: ArgumentParser) -> None:
    shared.add_model(
        parser, "change one option of the profile, such as search.beam_size=4; repeatable"
    )
    parser.add_argument(
        "--output",
        required=True,
        metavar="DIR",
        help="folder of the served model; its versions are numbered folders",
    )
    shared.add_number(parser, "--version", "number of the version (default: the next one)")
    parser.add_argument(
        "--format",
        choices=("savedmodel", "onnx"),
        default="savedmodel",
        help="savedmodel: for TensorFlow Serving (the default); onnx: DIR/N/model.onnx, with"
        " --set weights=int8 small and fast (needs rnnsearch-tf[onnx])",
    )
    parser.add_argument(
        "--profile",
        metavar="F.yaml",
        help="options of the export (default: translate, nbest and score, the run's own search)",
    )


def run(arguments: Namespace) -> None:
    for folder in arguments.model:
        Run.open(folder)  # fail before the slow import of TensorFlow
    if arguments.format == "onnx":
        require("export --format onnx", "tf2onnx", "onnx", "onnxruntime")
    import_tensorflow()
    if arguments.format == "onnx":
        from rnnsearch_tf.extras.onnx.export import export_onnx as export
    else:
        from rnnsearch_tf.export.writer import export_model as export
    exported = export(
        arguments.model,
        arguments.output,
        arguments.version,
        arguments.profile,
        arguments.set,
    )
    print(exported.folder / ("model.onnx" if arguments.format == "onnx" else ""))
    print(f"{exported.bytes:,} bytes; {exported.compared} answers checked", file=sys.stderr)
