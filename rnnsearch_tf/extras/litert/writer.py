"""Export a RUN for LiteRT: ``DIR/N`` with model.tflite, and its text settings in model.json."""

from __future__ import annotations

import json
import pathlib

from rnnsearch_tf.export.graph_export import Format, GraphExport
from rnnsearch_tf.runs.folder import LITERT_FILE

SETTINGS = "model.json"


def _convert(export: GraphExport, path: pathlib.Path) -> None:
    from rnnsearch_tf.extras.litert.graph import search_litert

    shortlist = export.translator.shortlist(export.search)
    weights = export.options.weights
    path.write_bytes(search_litert(export.translator.model, export.search, shortlist, weights))
    settings = json.dumps(export.settings, ensure_ascii=False)
    path.with_name(SETTINGS).write_text(settings, encoding="utf-8")


LITERT = Format(
    "LiteRT",
    "litert",
    ("ai_edge_litert",),
    LITERT_FILE,
    _convert,
    "rnnsearch_tf.extras.litert.answers",
    1,
    f"{SETTINGS} has the text settings",
)
"""OUTPUT/N/model.tflite, which takes the ids of one sentence, and OUTPUT/N/model.json."""
