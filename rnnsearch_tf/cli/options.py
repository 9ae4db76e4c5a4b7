"""List the shipped configurations and the options of a configuration, or explain one of them.

Without a name it lists the configurations, which --config finds by name, and the sections of
options. With the name of a configuration it prints it, as a file to start from. With the name of an
option, or the beginning of one (training. for a section), it prints the options that match: name,
default, unit, limits and meaning.
"""

import json
import operator
import re
import shutil
import textwrap
from argparse import ArgumentParser, Namespace

from rnnsearch_tf.errors import UsageError, did_you_mean


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="such as phrasebook, search.beam_size, training. or beam",
    )


def run(arguments: Namespace) -> None:
    from rnnsearch_tf.config import option_fields, shipped_configs

    name = arguments.name
    shipped = shipped_configs()
    if name is None:
        _list(shipped, dict(option_fields()))
    elif name in shipped:
        print(shipped[name].read_text(encoding="utf-8"), end="")
    else:
        _explain(name, shipped, dict(option_fields()))


def _list(shipped, options):
    column = 2 + max(map(len, shipped))
    print("configurations (rnnsearch options NAME prints one):")
    for name, path in shipped.items():
        print(_wrapped(_purpose(path), f"  {name:<{column}}", " " * (column + 2)))
    print(
        "\noptions (rnnsearch options SECTION.OPTION explains one, rnnsearch options SECTION. all):"
    )
    sections = {}
    for name in options:
        section, _, option = name.partition(".")
        sections.setdefault(section, []).append(option)
    for section, names in sections.items():
        print(_wrapped(", ".join(names), f"  {section}. ", "    "))


def _explain(name, shipped, options):
    """Print the options of this name, or whose name begins with it or has it in its last word."""
    from rnnsearch_tf.config import Config

    chosen = [
        option for option in options if option.startswith(name) or name in option.split(".")[-1]
    ]
    if not chosen:
        names = {*options, *(option.split(".")[-1] for option in options), *shipped}
        raise UsageError(
            f"expected the name of a configuration or of an option, or a part of it, got {name}"
            f"{did_you_mean(name, names, 'rnnsearch options lists them')}"
        )
    for option in chosen:
        metadata = options[option].metadata
        default = operator.attrgetter(option)(Config())
        print(f"{option}: {json.dumps(default)}{_limits(metadata)}")
        print(_wrapped(metadata["meaning"], "    ", "    "))


def _limits(metadata):
    """The unit and limits of an option in parentheses, or an empty string."""
    from rnnsearch_tf.config.option import LIMITS

    words = [metadata["unit"]] if metadata["unit"] else []
    words += [
        f"{word} {metadata[key]}" for key, (_, word) in LIMITS.items() if metadata[key] is not None
    ]
    words += [" | ".join(metadata["choices"])] if metadata["choices"] else []
    words += [f"of {', '.join(metadata['systems'])}"] if metadata["systems"] else []
    return f"  ({'; '.join(words)})" if words else ""


def _purpose(path):
    """The first sentence of a file's leading comment."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# "))
    return re.split(r"(?<!et al)\.(?:\s|$)", " ".join(lines))[0]


def _wrapped(text: str, first: str, rest: str) -> str:
    """The text in the terminal's width, 60 to 120 columns; the prefixes are of the first line and
    of the others.
    """
    width = max(60, min(shutil.get_terminal_size().columns, 120))
    return textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )
