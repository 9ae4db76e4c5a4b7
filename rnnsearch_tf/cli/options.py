"""List the shipped configurations and the options of a configuration, or explain one of them.

Without a name it lists the configurations, which --config finds by name, and the sections of
options. With the name of a configuration it prints it, as a file to start from. With the name of an
option, or the beginning of one (training. for a section), it prints the options that match: name,
default, unit, limits and meaning.
"""

import difflib
import re
from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli.shared import wrapped, yaml_value
from rnnsearch_tf.config import default_of, option_fields, shipped_configs
from rnnsearch_tf.config.option import LIMITS
from rnnsearch_tf.errors import UsageError


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="such as phrasebook, search.beam_size, training. or beam",
    )


def run(arguments: Namespace) -> None:
    name = arguments.name
    shipped = shipped_configs()
    if name is None:
        _list(shipped)
    elif name in shipped:
        print(shipped[name].read_text(encoding="utf-8"), end="")
    else:
        _explain(name, shipped)


def _list(shipped):
    column = 2 + max(map(len, shipped))
    print("configurations (rnnsearch options NAME prints one):")
    for name, path in shipped.items():
        print(wrapped(_purpose(path), f"  {name:<{column}}", " " * (column + 2)))
    sections = {}
    for name, _ in option_fields():
        section, _, option = name.rpartition(".")
        sections.setdefault(section, []).append(option)
    print(
        "\noptions (rnnsearch options SECTION.OPTION explains one, rnnsearch options SECTION. all):"
    )
    for section, names in sections.items():
        print(wrapped(", ".join(names), f"  {section}. " if section else "  ", "    "))


def _explain(name, shipped):
    """Print the options of this name, or whose name begins with it or has it in its last word."""
    entries = list(_entries())
    chosen = [
        entry for entry in entries if entry[0].startswith(name) or name in entry[0].split(".")[-1]
    ]
    if not chosen:
        words = {word for option, *_ in entries for word in (option, option.split(".")[-1])}
        close = difflib.get_close_matches(name, sorted({*words, *shipped}), n=1)
        hint = f"did you mean {close[0]}?" if close else "rnnsearch options lists them"
        raise UsageError(
            f"expected the name of a configuration or of an option, or a part of it, got {name};"
            f" {hint}"
        )
    for option, field, default in chosen:
        print(f"{option}: {yaml_value(default)}{_limits(field.metadata)}")
        print(wrapped(field.metadata["meaning"], "    ", "    "))


def _entries():
    """Yield (name, dataclass field, default) of every option."""
    for name, field in option_fields():
        yield name, field, default_of(name)


def _limits(metadata):
    """The unit and limits of an option in parentheses, or an empty string."""
    words = [metadata["unit"]] if metadata["unit"] else []
    words += [
        f"{word} {metadata[key]}" for key, (_, word) in LIMITS.items() if metadata[key] is not None
    ]
    words += [" | ".join(map(str, metadata["choices"]))] if metadata["choices"] else []
    return f"  ({'; '.join(words)})" if words else ""


def _purpose(path):
    """The first sentence of a file's leading comment."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# "))
    return re.split(r"(?<!et al)\.(?:\s|$)", " ".join(lines))[0]
