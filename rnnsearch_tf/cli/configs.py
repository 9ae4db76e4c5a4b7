"""List the configurations that come with the program; --config finds them by name."""

import re
from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli.shared import wrapped
from rnnsearch_tf.config import shipped_config, shipped_configs


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="print this configuration, as a file to start from"
    )


def run(arguments: Namespace) -> None:
    if arguments.name is not None:
        print(shipped_config(arguments.name).read_text(encoding="utf-8"), end="")
        return
    shipped = shipped_configs()
    column = 2 + max(map(len, shipped))
    for name, path in shipped.items():
        print(wrapped(_purpose(path), f"{name:<{column}}", " " * column))


def _purpose(path):
    """The first sentence of a file's leading comment."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# "))
    return re.split(r"(?<!et al)\.(?:\s|$)", " ".join(lines))[0]
