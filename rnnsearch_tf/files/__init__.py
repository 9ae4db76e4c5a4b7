"""Text files: read their lines, write results, replace files atomically."""

import os

AnyPath = str | os.PathLike[str]
"""A path, as :func:`open` takes it."""
