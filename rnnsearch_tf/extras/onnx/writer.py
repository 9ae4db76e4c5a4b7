"""Export a RUN as ONNX: write ``DIR/N/model.onnx`` under a temporary name, check it, publish it."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Sequence

from rnnsearch_tf.export.graph_export import Format, GraphExport, export_graph
from rnnsearch_tf.export.writer import Exported
from rnnsearch_tf.runs.folder import ONNX_FILE
from rnnsearch_tf.translation.loading import Paths

KEY = "rnnsearch"
"""Name of the metadata entry with the settings."""


def _convert(export: GraphExport, path: pathlib.Path) -> None:
    import onnx

    from rnnsearch_tf.extras.onnx.graph import search_onnx
    from rnnsearch_tf.extras.onnx.weights import store_weights

    shortlist = export.translator.shortlist(export.search)
    model = search_onnx(export.translator.model, export.search, shortlist)
    store_weights(model, export.options.weights)
    entry = model.metadata_props.add()
    entry.key = KEY
    entry.value = json.dumps(export.settings, ensure_ascii=False)
    onnx.save(model, str(path))


ONNX = Format(
    "ONNX Runtime",
    ONNX_FILE,
    _convert,
    "rnnsearch_tf.extras.onnx.answers",
    8,
    f"rnnsearch-translate --model {ONNX_FILE} translates",
)


def export_onnx(
    runs: Paths,
    output: str | os.PathLike[str],
    version: int | None = None,
    profile: str | os.PathLike[str] | None = None,
    overrides: Sequence[str] = (),
    combine: str = "probabilities",
) -> Exported:
    """Export a RUN, or an ensemble of several, as OUTPUT/N/model.onnx for ONNX Runtime.

    Its metadata have the text settings: the runtime in ``runtime/`` translates with it alone.

    Args:
        runs, output, version, profile, overrides, combine: as of
            :func:`~rnnsearch_tf.export.writer.export_model`.

    Raises:
        UserError, UsageError: as of :func:`~rnnsearch_tf.export.graph_export.export_graph`.
    """
    return export_graph(
        "export --format onnx",
        ("tf2onnx", "onnx", "onnxruntime"),
        ONNX,
        runs,
        output,
        version,
        profile,
        overrides,
        combine,
    )
