"""Export a trained RUN, or an ensemble, under DIR/N: as a SavedModel, raw text in and raw text out,
as one file that ONNX Runtime or LiteRT runs, or as a web page with the model in it.

Before DIR/N appears, a fresh process loads the model and its answers are compared with those of the
Python model (those of one file or a page only if the weights are float32). An existing version is
never overwritten. A failed export leaves nothing that a server would load, and the next export
removes what a killed one has left. A profile is a YAML file with the options of an export; --set
changes one of them. A checkout has examples in export/.
"""

from __future__ import annotations

import functools
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING

from rnnsearch_tf.cli import flags
from rnnsearch_tf.cli.shared import combination
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.export import publishing
from rnnsearch_tf.runtime.tensorflow import import_tensorflow
from rnnsearch_tf.runs.folder import Run

if TYPE_CHECKING:
    from rnnsearch_tf.export.writer import Exported


def arguments(parser: ArgumentParser) -> None:
    flags.add_model(parser)
    flags.add_folder(parser, "folder of the served model; its versions are numbered folders")
    parser.add_argument(
        "--format",
        choices=("savedmodel", "onnx", "litert", "web"),
        default="savedmodel",
        help="savedmodel: for TensorFlow Serving (the default); onnx: DIR/N/model.onnx, with"
        " --set weights=int8 small and fast; web: DIR/N is a folder for any web host, which"
        " translates in the browser (both need rnnsearch-tf[onnx]); litert: DIR/N/model.tflite, for"
        " one sentence at a time (needs rnnsearch-tf[litert])",
    )
    parser.add_argument(
        "--onnxruntime-web",
        metavar="F.tgz",
        help="with --format web: the package that runs the model there, from `npm pack"
        " onnxruntime-web`; or its folder",
    )
    flags.add_whole_number(
        parser,
        "--version",
        "number of the version (default: the next one)",
        maximum=publishing.LARGEST_VERSION,
    )
    parser.add_argument(
        "--profile",
        metavar="F.yaml",
        help=("options of the export (default: all signatures, the run's own search)"),
    )
    flags.add_settings(parser, "change one option of the profile", metavar="key=value")


def run(arguments: Namespace) -> None:
    if arguments.onnxruntime_web and arguments.format != "web":
        raise UsageError("--onnxruntime-web: it has no effect without --format web; leave it out")
    combine = combination(arguments)
    for folder in arguments.model:
        Run.open(folder)  # fail before the slow import of TensorFlow
    import_tensorflow()
    exported = _exporter(arguments)(
        arguments.model,
        arguments.output,
        arguments.version,
        arguments.profile,
        arguments.set,
        combine,
    )
    print(exported.folder)
    checked = f"{exported.compared} answers checked in" if exported.compared else "it answers in"
    print(f"{exported.bytes:,} bytes; {checked} a fresh process", file=sys.stderr)
    if exported.left_out:
        print(exported.left_out, file=sys.stderr)


def _exporter(arguments: Namespace) -> Callable[..., Exported]:
    """The function that exports in the chosen format."""
    if arguments.format == "web":
        from rnnsearch_tf.extras.web.writer import export_web

        return functools.partial(export_web, library=arguments.onnxruntime_web)
    if arguments.format in ("onnx", "litert"):
        from rnnsearch_tf.export.graph_export import export_graph
        from rnnsearch_tf.extras.litert.writer import LITERT
        from rnnsearch_tf.extras.onnx.writer import ONNX

        return functools.partial(export_graph, ONNX if arguments.format == "onnx" else LITERT)
    from rnnsearch_tf.export.writer import export_model

    return export_model
