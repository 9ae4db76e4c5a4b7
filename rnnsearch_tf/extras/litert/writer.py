"""Export a RUN for LiteRT: ``DIR/N`` with model.tflite, and its text settings in model.json."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Sequence

from rnnsearch_tf.export.graph_export import Format, GraphExport, export_graph
from rnnsearch_tf.export.writer import Exported
from rnnsearch_tf.runs.folder import LITERT_FILE
from rnnsearch_tf.translation.loading import Paths

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
    LITERT_FILE,
    _convert,
    "rnnsearch_tf.extras.litert.answers",
    1,
    f"{SETTINGS} has the text settings",
)


def export_litert(
    runs: Paths,
    output: str | os.PathLike[str],
    version: int | None = None,
    profile: str | os.PathLike[str] | None = None,
    overrides: Sequence[str] = (),
    combine: str = "probabilities",
) -> Exported:
    """Export a RUN, or an ensemble of several, for LiteRT: OUTPUT/N/model.tflite takes the ids of
    one sentence, OUTPUT/N/model.json has the text settings.

    Args:
        runs, output, version, profile, overrides, combine: as of
            :func:`~rnnsearch_tf.export.writer.export_model`.

    Raises:
        UserError, UsageError: as of :func:`~rnnsearch_tf.export.graph_export.export_graph`.
    """
    return export_graph(
        "export --format litert",
        ["ai_edge_litert"],
        LITERT,
        runs,
        output,
        version,
        profile,
        overrides,
        combine,
    )
