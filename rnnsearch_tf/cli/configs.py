"""The configurations that come with the program; --config finds them by name."""

import re
import textwrap

from rnnsearch_tf.cli.shared import terminal_width
from rnnsearch_tf.config import shipped_config, shipped_configs
from rnnsearch_tf.io.writing import Output


def arguments(parser):
    parser.add_argument("name", nargs="?", metavar="NAME", help="print this one, as a file to start from")


def run(arguments):
    with Output() as output:
        if arguments.name is not None:
            return output.write(shipped_config(arguments.name).read_text(encoding="utf-8").splitlines())
        shipped = shipped_configs()
        column = 2 + max(map(len, shipped))
        for name, path in shipped.items():
            output.write(textwrap.wrap(
                _purpose(path), terminal_width(), initial_indent=f"{name:<{column}}", subsequent_indent=" " * column, break_on_hyphens=False,
            ))


def _purpose(path):
    """The first sentence of a file's comment."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# "))
    return re.split(r"(?<!et al)\.(?:\s|$)", " ".join(lines))[0]
