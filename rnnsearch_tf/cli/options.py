"""List the options of a configuration: name, default, unit, limits and meaning.

Without a name it lists all options; with a name, or the beginning of one (training. for a section),
the options that match.
"""

import difflib
from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli.shared import wrapped, yaml_value
from rnnsearch_tf.config import CorpusConfig, default_of, option_fields
from rnnsearch_tf.config.option import LIMITS
from rnnsearch_tf.errors import UsageError


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="such as search.beam_size, training. or beam"
    )


def run(arguments: Namespace) -> None:
    chosen = [
        entry
        for entry in _entries()
        if not arguments.names or any(_matches(entry[0], name) for name in arguments.names)
    ]
    if not chosen:
        known = {
            word
            for name, *_ in _entries()
            for word in (name, name.partition(".")[0] + ".", name.rpartition(".")[2])
        }
        close = difflib.get_close_matches(arguments.names[0], sorted(known), n=1)
        hint = f"did you mean {close[0]}?" if close else "rnnsearch options lists them"
        raise UsageError(
            f"expected the name of an option or a part of one, got {' '.join(arguments.names)};"
            f" {hint}"
        )
    for name, field, default in chosen:
        print(f"{name}: {yaml_value(default)}{_limits(field.metadata)}")
        print(wrapped(field.metadata["meaning"], "    ", "    "))


def _entries():
    """Yield (name, dataclass field, default) of every option; those of an entry of data.corpora
    stand after it.
    """
    for name, field in option_fields():
        yield name, field, default_of(name)
        if name == "data.corpora":
            for of_entry, its_field in option_fields(CorpusConfig, "data.corpora[]."):
                yield of_entry, its_field, its_field.default


def _matches(option, name):
    """Whether a name is the beginning of an option's name, or a part of its last word."""
    return option.startswith(name) or name in option.rpartition(".")[2]


def _limits(metadata):
    """The unit and limits of an option in parentheses, or an empty string."""
    words = [metadata["unit"]] if metadata["unit"] else []
    words += [
        f"{word} {metadata[key]}" for key, (_, word) in LIMITS.items() if metadata[key] is not None
    ]
    words += [" | ".join(map(str, metadata["choices"]))] if metadata["choices"] else []
    return f"  ({'; '.join(words)})" if words else ""
