"""Export a RUN for LiteRT: ``DIR/N`` with model.tflite, and its text settings in model.json."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Sequence

from rnnsearch_tf.export.graph_export import Format, GraphExport
from rnnsearch_tf.export.publishing import new_version
from rnnsearch_tf.export.writer import Exported
from rnnsearch_tf.runs.folder import LITERT_FILE
from rnnsearch_tf.runtime.optional import require
from rnnsearch_tf.translation.loading import Paths

SETTINGS = "model.json"


def export_litert(
    runs: Paths,
    output: str | os.PathLike[str],
    version: int | None = None,
    profile: str | os.PathLike[str] | None = None,
    overrides: Sequence[str] = (),
    combine: str = "probabilities",
) -> Exported:
    """Export a RUN, or an ensemble of several, as one file for LiteRT (TensorFlow Lite).

    OUTPUT/N/model.tflite has the beam search as a graph, from the ids of one sentence to its n-best
    list with attention; OUTPUT/N/model.json has the text settings.

    Args:
        runs, output, version, profile, overrides, combine: as of
            :func:`~rnnsearch_tf.export.writer.export_model`.

    Raises:
        UserError: a RUN is incomplete, an optional package is missing, the model has no form for
            LiteRT, or the answers of a fresh process differ from the Python model's; nothing is
            published then.
        UsageError: the profile has an option without effect here.
    """
    what = "export --format litert"
    require(what, "ai_edge_litert")
    export = GraphExport(what, LITERT, runs, output, version, profile, overrides, combine)
    with new_version(output, version, graph=True) as (target, folder):
        exported = export.write(target, folder)
        settings = json.dumps(export.settings, ensure_ascii=False)
        (folder / SETTINGS).write_text(settings, encoding="utf-8")
    return exported


def _convert(export: GraphExport, path: pathlib.Path) -> None:
    from rnnsearch_tf.extras.litert.graph import search_litert

    shortlist = export.translator.shortlist(export.search)
    weights = export.options.weights
    path.write_bytes(search_litert(export.translator.model, export.search, shortlist, weights))


LITERT = Format(
    "LiteRT",
    LITERT_FILE,
    _convert,
    "rnnsearch_tf.extras.litert.check",
    1,
    f"{SETTINGS} has the text settings",
)
