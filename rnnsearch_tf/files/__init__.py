"""Text files and atomic writes: one reader, one writer.

May import errors.
"""

import os

AnyPath = str | os.PathLike[str]
"""A path, as :func:`open` takes it."""
