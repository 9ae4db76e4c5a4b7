"""What an export says of its model, to the server's page and to ``translate``:
``assets.extra/about.json``.

{"source": "en", "target": "fr", "examples": ["My sister sells an old book."]}
"""

from __future__ import annotations

import json
import pathlib

from rnnsearch_tf.config import load_config
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.reading import read_lines
from rnnsearch_tf.runs.folder import Run

FILE = pathlib.PurePath("assets.extra", "about.json")
MOST_EXAMPLES = 50
"""The server's page offers a button for each example."""


def write_about(folder: pathlib.Path, run: Run) -> None:
    """Write the language codes of a RUN and its examples beside an exported model.

    Args:
        folder: path of the SavedModel.
        run: the RUN, or the first of an ensemble.
    """
    config = load_config(run.config)
    examples = read_lines(run.examples) if run.examples.exists() else []
    values = {
        "source": config.source.language,
        "target": config.target.language,
        "examples": [line for line in examples if line.strip()][:MOST_EXAMPLES],
    }
    path = folder / FILE
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(values, ensure_ascii=False) + "\n", encoding="utf-8")


def read_about(folder: AnyPath) -> dict[str, str]:
    """The language codes of an exported model, as {"source": "en", "target": "fr"}.

    Raises:
        UserError: it names none.
    """
    path = pathlib.Path(folder, FILE)
    if not path.exists():
        raise UserError(f"{path}: expected the languages of the model, found no file")
    values = json.loads(path.read_text(encoding="utf-8"))
    return {side: values[side] for side in ("source", "target")}
