"""Read configurations, check them against the options declared in ``options.py``, write them.

Values have this precedence, later ones win::

    defaults  <  base files  <  the YAML file  <  --set section.key=value

A YAML file may begin with ``base:``, the name of a shipped configuration or the path of a file,
relative to the file that names it. A base may have a base. Values are merged section by section; a
list replaces the list below it. What was merged is checked once, and an error names the file, or
the ``--set``, that has the value.

Nothing here imports TensorFlow, so that ``--help`` and the checks respond at once.

Example:
    >>> config = load_config("groundhog", overrides=["model.hidden_size=8"])
    >>> config.model.hidden_size, config.search.shrinking_beam
    (8, True)
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import pathlib
import typing
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from rnnsearch_tf.config.option import Section, check_field
from rnnsearch_tf.config.options import Config
from rnnsearch_tf.errors import UsageError, one_line
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.atomic import write_file

SectionT = typing.TypeVar("SectionT")

Tree = dict[str, Any]
"""Options as nested dictionaries, as a YAML file has them."""

LONGEST_CHAIN = 20
"""Files that may be bases of each other; a longer chain is a circle."""

LAST_WITH_ALL = "ff94a411"
"""The last commit that has every option of the configurations that were saved before."""


def load_config(
    path: AnyPath | None = None, overrides: Sequence[str] = (), values: Tree | None = None
) -> Config:
    """Read a configuration, check it, and return it.

    Args:
        path: YAML file, or the name of a shipped configuration, or None for the defaults.
        overrides: strings ``section.key=value``; the value is read as YAML.
        values: nested dictionary to use instead of a file.

    Returns:
        Config: frozen; every value has its declared type and lies within its limits. An option of
        a base that the model's system does not have is at its default.

    Raises:
        UsageError: the file is missing or not YAML; a key is unknown (the message names the nearest
            one); a value has the wrong type or is out of range; or the file or an override sets an
            option that the model's system does not have.
    """
    return load_section(Config(), path, overrides, values)


def load_section(
    default: SectionT,
    path: AnyPath | None = None,
    overrides: Sequence[str] = (),
    values: Tree | None = None,
) -> SectionT:
    """Read a dataclass of options from its own file, as :func:`load_config` does.

    Args:
        default: the dataclass with its defaults.
        path, overrides, values: as in :func:`load_config`.
    """
    if path is not None and values:
        raise UsageError(
            f"load_config: expected path or values, got both, {path} and {', '.join(values)}; leave"
            " one out, or change the file's options with overrides"
        )
    layers = _read_with_bases(path) if path is not None else [("configuration", values or {})]
    changes = [(f"--set {text}", _parsed(text)) for text in overrides]
    below = _merged(layers)
    tree = _merged([*layers, *changes])
    if isinstance(default, Config):
        _check_system(layers[-1:], _system(below))
        _check_system(changes, _system(tree))
    return _build(default, tree, [*layers, *changes])


def save_config(config: Section, path: AnyPath) -> None:
    """Write the effective configuration, or another dataclass of options; loading the file gives an
    equal one.
    """
    tree = dataclasses.asdict(config)
    write_file(path, yaml.safe_dump(tree, sort_keys=False, allow_unicode=True))


def shipped_configs() -> dict[str, pathlib.Path]:
    """Paths of the configurations that come with the package, by name."""
    paths = (pathlib.Path(__file__).parent / "shipped").glob("*.yaml")
    return {path.stem: path for path in sorted(paths, key=lambda path: path.stem)}


def option_fields() -> Iterator[tuple[str, dataclasses.Field[Any]]]:
    """Yield (dotted name, dataclass field) of every option, in declared order."""
    for section in dataclasses.fields(Config):
        for field in dataclasses.fields(getattr(Config(), section.name)):
            yield f"{section.name}.{field.name}", field


def check_value(name: str, value: Any, where: str | None = None) -> Any:
    """Check the value of one option as in a file, and return it in its declared type.

    Args:
        name: dotted name, such as ``search.beam_size``.
        value: the value to check.
        where: name of the option in messages; None: `name`.

    Raises:
        UsageError: the value has the wrong type or is out of range.
    """
    section, _, key = name.partition(".")
    owner = typing.get_type_hints(Config)[section]
    hint = typing.get_type_hints(owner)[key]
    return check_field(value, hint, owner.__dataclass_fields__[key], where or name)


Layer = tuple[str, Tree]
"""(file or override, its values)"""


def _read_with_bases(path: AnyPath) -> list[Layer]:
    """The layers of a YAML file, by rising precedence: its bases, then the file itself."""
    layers: list[Layer] = []
    base: Any = str(path)
    folder = pathlib.Path()
    while len(layers) < LONGEST_CHAIN:
        try:
            name, file = _file(base, folder)
            tree = _read(file)
        except UsageError as error:
            raise UsageError(f"{layers[0][0]}: base: {error}" if layers else error) from None
        layers.insert(0, (name, tree))
        if "base" not in tree:
            return layers
        base = tree.pop("base")
        folder = file.parent
    raise UsageError(f"{path}: base: expected a chain of bases that ends, got {name} again")


def _file(name: Any, folder: pathlib.Path) -> tuple[str, pathlib.Path]:
    """(name in messages, path) of a configuration: a file of a folder, or a shipped one."""
    if not isinstance(name, str):
        raise UsageError(
            f"expected the name of a shipped configuration or the path of a YAML file, got {name!r}"
        )
    path = folder / name
    if path.is_file() or path.suffix or path.name != name:
        return str(path), path
    return name, _shipped(name)


def _shipped(name: str) -> pathlib.Path:
    """The path of a shipped configuration."""
    shipped = shipped_configs()
    if name not in shipped:
        close = difflib.get_close_matches(name, shipped, n=1)
        hint = f"did you mean {close[0]}?" if close else "rnnsearch options lists them"
        raise UsageError(
            f"{name}: expected a YAML configuration file or the name of a shipped one, found"
            f" neither; {hint}"
        )
    return shipped[name]


def _read(path: pathlib.Path) -> Tree:
    """A YAML file as nested dictionaries."""
    try:
        tree = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(
            f"{path}: expected a YAML configuration file, found none; check the path"
        ) from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise UsageError(
            f"{path}:{line}: expected YAML such as `key: value`, got: {error.problem}"
        ) from None
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UsageError(f"{path}: expected a YAML file in UTF-8, got: {one_line(error)}") from None
    if not isinstance(tree or {}, dict):
        raise UsageError(f"{path}: expected `key: value` lines, got {one_line(repr(tree), 60)}")
    return tree or {}


def _parsed(text: str) -> Tree:
    """``section.key=value`` as a nested dictionary."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(
            f"--set {text}: expected section.key=value, for example model.hidden_size=256"
        )
    try:
        update = yaml.safe_load(value)
    except (yaml.YAMLError, ValueError):
        raise UsageError(f"--set {text}: expected a YAML value after '='") from None
    for key in reversed(name.strip().split(".")):
        update = {key: update}
    return update


def _merge(below: Tree, above: Tree) -> Tree:
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merge(merged[key], value) if both else value
    return merged


def _merged(layers: Sequence[Layer]) -> Tree:
    return functools.reduce(_merge, (tree for _, tree in layers), {})


_NOTHING = object()


def _value(tree: Any, name: str) -> Any:
    """The value of a dotted name in nested dictionaries, or _NOTHING."""
    for key in name.split("."):
        if not isinstance(tree, dict) or key not in tree:
            return _NOTHING
        tree = tree[key]
    return tree


def _system(tree: Tree) -> Any:
    found = _value(tree, "model.system")
    return Config().model.system if found is _NOTHING else found


def _check_system(layers: Sequence[Layer], system: Any) -> None:
    """Refuse values of options that the system does not have."""
    tree = _merged(layers)
    for name, field in option_fields():
        systems = field.metadata["systems"]
        value = _value(tree, name)
        if systems and system not in systems and value not in (_NOTHING, field.default):
            raise UsageError(
                f"{_place(name, layers)}: {name}: expected model.system to be"
                f" {' or '.join(systems)}, got {system}, which has no such option; leave it out"
            )


def _build(default: Section, tree: Tree, layers: Sequence[Layer], prefix: str = "") -> Any:
    """The dataclass `default` with the values of a dictionary, every key and value checked."""
    hints = typing.get_type_hints(type(default))
    fields = {field.name: field for field in dataclasses.fields(default)}
    values = {}
    for key, value in tree.items():
        name = f"{prefix}{key}"
        where = f"{_place(name, layers)}: {name}"
        if key not in fields:
            raise UsageError(f"{where}: unknown option{_hint(name, fields, layers)}")
        if not dataclasses.is_dataclass(hints[key]):
            values[key] = check_field(value, hints[key], fields[key], where)
        elif isinstance(value, dict):
            values[key] = _build(getattr(default, key), value, layers, f"{name}.")
        else:
            raise UsageError(f"{where}: expected a section of `key: value` lines, got {value!r}")
    try:
        return dataclasses.replace(default, **values)
    except UsageError as error:
        raise UsageError(f"{layers[-1][0]}: {error}") from None


def _place(name: str, layers: Sequence[Layer]) -> str:
    """The file or override that sets an option: the last one that has it."""
    places = (where for where, tree in reversed(layers) if _value(tree, name) is not _NOTHING)
    return next(places, layers[-1][0])


def _hint(name: str, fields: Sequence[str], layers: Sequence[Layer]) -> str:
    """What to do about an unknown option."""
    if pathlib.PurePath(_place(name, layers)).name == "config.yaml":  # training wrote it
        return f"; options were removed after commit {LAST_WITH_ALL}, which still reads it"
    prefix, _, key = name.rpartition(".")
    close = difflib.get_close_matches(key, fields, n=1)
    if close:
        return f"; did you mean {prefix and prefix + '.'}{close[0]}?"
    elsewhere = {name.rpartition(".")[2]: name for name, _ in option_fields()}
    if key in elsewhere:
        return f"; did you mean {elsewhere[key]}?"
    return f"; expected one of {', '.join(fields)}"
