"""Start a module of this package in a Python of its own."""

from __future__ import annotations

import pathlib
import sys

_WITHOUT_FOLDER = "import sys; sys.path[:] = filter(None, sys.path)"
"""The current folder may have a queue.py, which is not Python's."""


def module_command(module: str, *words: str) -> list[str]:
    """The command ``python -m MODULE WORDS``, but without the modules of the current folder; this
    package is found.
    """
    root = str(pathlib.Path(__file__).parents[2])
    program = (
        f"{_WITHOUT_FOLDER}; sys.path[:0] = {{{root!r}}} - {{*sys.path}}; import runpy;"
        f" runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
    )
    return [sys.executable, "-c", program, *words]
