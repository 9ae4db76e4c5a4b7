"""Read YAML for configurations: limited size, unique keys, decimal numbers, errors with lines."""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Callable
from typing import Any

import yaml

from rnnsearch_tf.config.option import Tree
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.files import AnyPath

_NUMBERS = {
    "tag:yaml.org,2002:int": r"[-+]?(?:0x[0-9a-fA-F_]+|0b[01_]+|0|[1-9][0-9_]*)",
    "tag:yaml.org,2002:float": (
        r"[-+]?(?:(?:(?:0|[1-9][0-9_]*)\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+][0-9]+)?"
        r"|\.(?:inf|Inf|INF))"
        r"|\.(?:nan|NaN|NAN)"
    ),
}
"""Regular expressions of numbers in a configuration."""

MOST_CHARACTERS = 1_000_000
"""Most characters of a YAML file, and most values in it."""

_NOT_YAML = (yaml.YAMLError, ValueError, LookupError, AttributeError)
"""What parsing raises; the last three: a value that is not of its kind, such as a date that does
not exist, !!bool x or !!timestamp x.
"""


def read_yaml(path: AnyPath) -> Tree:
    """Read a YAML file as nested dictionaries.

    Raises:
        UsageError: the file is missing, is not YAML, or is too large.
    """
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(MOST_CHARACTERS + 1)
    except FileNotFoundError:
        raise UsageError(
            f"{path}: expected a YAML configuration file, found none; check the path"
        ) from None
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path}: expected a YAML file in UTF-8, got byte 0x{error.object[error.start]:02x};"
            " check the path"
        ) from None
    except OSError as error:
        raise UsageError(
            f"{path}: expected a YAML file that can be read, got: {error.strerror}; check the path"
        ) from None
    if len(text) > MOST_CHARACTERS:
        raise UsageError(
            f"{path}: expected a configuration of at most {MOST_CHARACTERS:,} characters, got more;"
            " check the path"
        )
    return parse_yaml(text, path)


def parse_yaml(text: str, path: AnyPath) -> Tree:
    """Parse YAML as nested dictionaries.

    Args:
        text: at most MOST_CHARACTERS.
        path: where it is from, for errors.

    Raises:
        UsageError: it is not YAML, or has too many values.
    """
    try:
        tree = yaml.load(text, _Loader)
        if _size(tree, {}) > MOST_CHARACTERS:
            raise UsageError(
                f"{path}: expected a configuration, got too many values by anchors and aliases;"
                " write the values out"
            )
    except _NOT_YAML as error:
        raise UsageError(_not_yaml(path, text, error)) from None
    except RecursionError:
        raise UsageError(
            f"{path}: expected sections of `key: value` lines, got too deeply nested ones; check"
            " the file"
        ) from None
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        got = f"text, {tree[:40]!r}" if isinstance(tree, str) else f"a {type(tree).__name__}"
        raise UsageError(
            f"{path}: expected a YAML file of `key: value` lines, got {got}; check the path"
        )
    return tree


def read_with_bases(
    name: str, file: AnyPath, shipped: Callable[[str], pathlib.Path]
) -> list[tuple[str, Tree]]:
    """Read a YAML file and its bases, each without its ``base``.

    Args:
        name: the file's name in messages.
        file: its path.
        shipped: returns the path of a shipped configuration by its name, or raises UsageError.

    Returns:
        list of (name, nested dictionary), the file last; each overrides those before it.

    Raises:
        UsageError: a file is missing or not YAML, or a base is invalid or leads back to the file.
    """
    tree = read_yaml(file)
    found = [(name, tree)]
    paths = [os.path.realpath(file)]
    while "base" in tree:
        try:
            base_name, file = _base_file(file, tree.pop("base"), shipped)
            tree = read_yaml(file)
        except UsageError as error:
            raise UsageError(f"{name}: base: {error}") from None
        if os.path.realpath(file) in paths:
            circle = ", ".join([*(other for other, _ in found), base_name])
            raise UsageError(
                f"{name}: base: expected a file that does not lead back to itself, "
                f"got a circle: {circle}; take one of their base lines out"
            )
        name = base_name
        found.append((name, tree))
        paths.append(os.path.realpath(file))
    return found[::-1]


def _base_file(
    file: AnyPath, base: Any, shipped: Callable[[str], pathlib.Path]
) -> tuple[str, pathlib.Path]:
    """(name in messages, path) of the base that a file names."""
    no_name = r"[\0-\x1f\ud800-\udfff]"
    if not isinstance(base, str) or not base or re.search(no_name, base):
        raise UsageError(
            "expected the name of a shipped configuration or the path of a YAML file, "
            f"got {base!r}; rnnsearch options lists the names"
        )
    beside = pathlib.Path(file).parent / base
    found = os.path.exists(beside) and not os.path.isdir(beside)
    if len(pathlib.PurePath(base).parts) == 1 and not found:
        return base, shipped(base)
    return str(beside), beside


class _Loader(yaml.SafeLoader):
    """Refuses a key that occurs twice in a section; PyYAML takes the last.

    Numbers are decimal: 010 and 12:30, octal and base 60 in YAML 1.1, are read as strings, which a
    numeric option refuses.
    """

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in _NUMBERS]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.Node, deep: bool = False) -> dict[Any, Any]:
        entries = node.value if isinstance(node, yaml.MappingNode) else ()
        known = set()
        for key in (key for key, _ in entries if isinstance(key, yaml.ScalarNode)):
            if key.value in known:
                raise yaml.constructor.ConstructorError(
                    None,
                    None,
                    f"{key.value} occurs here for the second time; put the two together",
                    key.start_mark,
                )
            known.add(key.value)
        return super().construct_mapping(node, deep)


for _tag, _pattern in _NUMBERS.items():
    _Loader.add_implicit_resolver(_tag, re.compile(f"^{_pattern}$"), list("-+.0123456789"))


def parse_value(text: str, where: str) -> Any:
    """Parse the value of an option, written as YAML; UsageError, which names the place, if that
    fails.
    """
    try:
        return yaml.load(text, _Loader)
    except (*_NOT_YAML, RecursionError):
        raise UsageError(f"{where}: expected a YAML value after '=', got {text!r}") from None


def read_value(text: str) -> Any:
    """Parse the text of a flag as the value of an option; return the text if it is not YAML."""
    try:
        return yaml.load(text, _Loader)
    except (*_NOT_YAML, RecursionError):
        return text


def _not_yaml(path: AnyPath, text: str, error: Any) -> str:
    """The message about a YAML syntax error, with its line."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:  # a character that YAML does not allow
        return (
            f"{path}: expected YAML, got a file that does not parse: {' '.join(str(error).split())}"
        )
    lines = text.splitlines()
    found = repr(lines[mark.line].strip()[:60]) if mark.line < len(lines) else "the end of the file"
    return (
        f"{path}:{mark.line + 1}: expected YAML such as `key: value`, got {found}: {error.problem}"
    )


def _size(tree: Any, known: dict[int, int]) -> int:
    """Count the values in nested lists and dictionaries; a shared one counts in each place."""
    if not isinstance(tree, (dict, list)):
        return 1
    if id(tree) not in known:
        known[id(tree)] = MOST_CHARACTERS + 1  # for an alias inside itself
        known[id(tree)] = 1 + sum(
            _size(value, known) for value in (tree.values() if isinstance(tree, dict) else tree)
        )
    return known[id(tree)]
