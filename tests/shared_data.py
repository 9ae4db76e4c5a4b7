"""Where the real parallel text is, for tests that are skipped without it."""

import os
import pathlib

SHARED = pathlib.Path(
    os.environ.get("RNNSEARCH_SHARED", pathlib.Path(__file__).parents[2] / "shared")
)
