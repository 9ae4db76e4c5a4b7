"""Read configurations, check them against the options declared in ``options.py``, write them.

Values have this precedence, later ones win::

    defaults  <  base files  <  the YAML file  <  values from Python  <  --set section.key=value

A YAML file may begin with ``base:``, the name of a shipped configuration or the path of a file,
relative to the file that names it. A base may have a base. A list replaces the list below it. What
is left is checked once, and an error names the file, or the ``--set``, that has the value.

Nothing here imports TensorFlow, so that the checks respond at once.

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
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from rnnsearch_tf.config.option import check_field
from rnnsearch_tf.config.options import Config
from rnnsearch_tf.errors import UsageError, did_you_mean, one_line
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.atomic import write_file

SectionT = typing.TypeVar("SectionT")

Tree = dict[str, Any]
"""Options as nested dictionaries, as a YAML file has them."""

Layer = tuple[str, dict[str, Any]]
"""(file or ``--set``, {dotted name: value})"""


def load_config(
    path: AnyPath | None = None, overrides: Sequence[str] = (), values: Tree | None = None
) -> Config:
    """Read a configuration, check it, and return it.

    Args:
        path: YAML file, or the name of a shipped configuration, or None for the defaults.
        overrides: strings ``section.key=value``; the value is read as YAML.
        values: nested dictionary of options.

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
    """Read a dataclass of options, such as `default`, as :func:`load_config` does."""
    layers = _read_with_bases(path) if path is not None else []
    given = layers[-1:] + ([("configuration", dict(_flat(values)))] if values else [])
    layers = layers[:-1] + given
    changes = [(f"--set {text}", dict(_flat(_parsed(text)))) for text in overrides]
    if isinstance(default, Config):
        system = default.model.system
        _check_system(given, layers, system)
        _check_system(changes, layers + changes, system)
    return _changed(default, layers + changes)


def save_config(config: Any, path: AnyPath) -> None:
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
    return ((name, field) for name, (_, field) in _options(Config).items())


def check_value(name: str, value: Any, where: str | None = None) -> Any:
    """Check the value of one option, such as ``search.beam_size``, as in a file, and return it in
    its declared type. Messages call it `where`; None: `name`.

    Raises:
        UsageError: the value has the wrong type or is out of range.
    """
    return check_field(value, *_options(Config)[name], where or name)


@functools.cache
def _options(section: type) -> dict[str, tuple[Any, dataclasses.Field[Any]]]:
    """{dotted name: (type, field)} of the options of a dataclass and of its sections."""
    hints = typing.get_type_hints(section)
    options: dict[str, tuple[Any, dataclasses.Field[Any]]] = {}
    for field in dataclasses.fields(section):
        hint = hints[field.name]
        if dataclasses.is_dataclass(hint):
            below = _options(typing.cast(type, hint)).items()
            options |= {f"{field.name}.{name}": option for name, option in below}
        else:
            options[field.name] = hint, field
    return options


def _read_with_bases(path: AnyPath) -> list[Layer]:
    """The layers of a YAML file, by rising precedence: its bases, then the file itself."""
    layers: list[Layer] = []
    files: list[pathlib.Path] = []
    base: Any = str(path)
    folder = pathlib.Path()
    while base is not None:
        try:
            name, file = _file(base, folder)
            tree = _read(file)
        except UsageError as error:
            raise UsageError(f"{layers[0][0]}: base: {error}" if layers else error) from None
        if file.resolve() in files:
            raise UsageError(f"{path}: base: expected a chain of bases that ends, got {name} again")
        files.append(file.resolve())
        base, folder = tree.pop("base", None), file.parent
        layers.insert(0, (name, dict(_flat(tree))))
    return layers


def _file(name: Any, folder: pathlib.Path) -> tuple[str, pathlib.Path]:
    """(name in messages, path) of a configuration: a file of a folder, or a shipped one."""
    name = str(name)
    path = folder / name
    if path.exists() and not path.is_dir():
        return str(path), path
    shipped = shipped_configs()
    if name not in shipped:
        raise UsageError(
            f"{name}: expected a YAML file, or the name of a shipped configuration, found neither"
            f"{did_you_mean(name, shipped, 'rnnsearch options lists them')}"
        )
    return name, shipped[name]


def _read(path: pathlib.Path) -> Tree:
    """A YAML file as nested dictionaries."""
    try:
        text = path.read_text(encoding="utf-8")
        tree = yaml.safe_load(text)
        _check_keys(yaml.compose(text, yaml.SafeLoader), path)
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


def _check_keys(node: Any, path: pathlib.Path) -> None:
    """Refuse a key that stands twice in a section, of which PyYAML would take the last only."""
    seen: dict[str, int] = {}
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        line = key.start_mark.line + 1
        if key.value in seen:
            raise UsageError(
                f"{path}:{line}: {key.value}: expected every key once, got it in line"
                f" {seen[key.value]} too; join the two"
            )
        seen[key.value] = line
        _check_keys(value, path)


def _parsed(text: str) -> Tree:
    """``section.key=value`` as {"section.key": value}."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(
            f"--set {text}: expected section.key=value, for example model.hidden_size=256"
        )
    try:
        return {name.strip(): yaml.safe_load(value)}
    except (yaml.YAMLError, ValueError):
        raise UsageError(f"--set {text}: expected a YAML value after '='") from None


def _flat(tree: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (dotted name, value); the value of an empty section is {}."""
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _merged(layers: Sequence[Layer]) -> dict[str, tuple[str, Any]]:
    """{dotted name: (file or ``--set`` that has it, value)}"""
    return {name: (where, value) for where, values in layers for name, value in values.items()}


def _check_system(given: Sequence[Layer], layers: Sequence[Layer], default: str) -> None:
    """Refuse given values of options that the system, which all layers decide, does not have."""
    _, system = _merged(layers).get("model.system", ("", default))
    values = _merged(given)
    for name, (_, field) in _options(Config).items():
        systems = field.metadata["systems"]
        where, value = values.get(name, ("", field.default))
        if systems and system not in systems and value != field.default:
            raise UsageError(
                f"{where}: {name}: expected model.system to be {' or '.join(systems)}, got"
                f" {system}, which has no such option; leave it out"
            )


def _changed(default: SectionT, layers: Sequence[Layer]) -> SectionT:
    """The dataclass `default` with the values of the layers, every name and value checked."""
    options = _options(typing.cast(type, type(default)))
    sections = dict.fromkeys(name.partition(".")[0] for name in options if "." in name)
    checked: dict[str, dict[str, Any]] = {}
    for name, (where, value) in _merged(layers).items():
        if name in options:
            section, _, key = name.rpartition(".")
            value = check_field(value, *options[name], f"{where}: {name}")
            checked.setdefault(section, {})[key] = value
        elif name not in sections:
            hint = _hint(name, [*options, *sections])
            raise UsageError(f"{where}: {name}: unknown option; {hint}")
        elif value != {} and (value is not None or where.startswith("--set")):  # only comments
            raise UsageError(
                f"{where}: {name}: expected a section of `key: value` lines, got {value!r}"
            )
    try:
        own = checked.pop("", {})
        for section, values in checked.items():
            own[section] = dataclasses.replace(getattr(default, section), **values)
        return typing.cast(SectionT, dataclasses.replace(typing.cast(Any, default), **own))
    except UsageError as error:  # two options that do not go together
        option = str(error).partition(":")[0]
        where, _ = _merged(layers).get(option, layers[-1])
        raise UsageError(f"{where}: {error}") from None


def _hint(name: str, names: Sequence[str]) -> str:
    """The nearest name to an unknown one."""
    section, _, key = name.rpartition(".")
    keys = [each.rpartition(".")[2] for each in names if each.rpartition(".")[0] == section]
    elsewhere = [each for each in names if each.endswith(f".{key}")]
    if close := difflib.get_close_matches(key, keys, n=1):
        return f"did you mean {section and section + '.'}{close[0]}?"
    if elsewhere:
        return f"did you mean {elsewhere[0]}?"
    return f"expected one of {', '.join(keys)}" if keys else _hint(section, names)
