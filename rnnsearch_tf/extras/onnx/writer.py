"""Export a RUN as ONNX: write ``DIR/N/model.onnx`` under a temporary name, check it, publish it."""

from __future__ import annotations

import json
import pathlib

from rnnsearch_tf.export.graph_export import Format, GraphExport
from rnnsearch_tf.runs.folder import ONNX_FILE

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
    "onnx",
    ("tf2onnx", "onnx", "onnxruntime"),
    ONNX_FILE,
    _convert,
    "rnnsearch_tf.extras.onnx.answers",
    8,
    f"rnnsearch-translate --model {ONNX_FILE} translates",
)
"""OUTPUT/N/model.onnx. Its metadata have the text settings: the runtime in ``runtime/`` translates
with it alone.
"""
