"""Read configurations, check them against the options declared in ``options.py``, write them.

Loading checks every key and value; an unknown key is refused, and the error suggests the nearest
name. Values have this precedence, later ones win::

    defaults  <  below  <  preset  <  base  <  YAML file  <  --set section.key=value

A YAML file may begin with ``base:``, the name of a shipped configuration or the path of a file,
relative to the file that names it. The file's values override those of its base, section by
section; a list replaces the base's list. A base may have a base. The preset of a base applies
unless the file names its own or ``preset: null``. The values of both files override the preset.

Nothing here imports TensorFlow, so that ``--help`` and the checks respond at once.

Example:
    >>> config = load_config(overrides=["preset=groundhog", "model.hidden_size=8"])
    >>> config.model.hidden_size, config.model.output_rank
    (8, 620)
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import math
import operator
import os
import pathlib
import re
import types
import typing
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import yaml

from rnnsearch_tf.config.effects import (
    evaluation_defaults,
    names_without_effect,
    sections_of,
    with_defaults_where_unnamed,
)
from rnnsearch_tf.config.option import LIMITS, Section, Tree
from rnnsearch_tf.config.options import Config
from rnnsearch_tf.config.presets import PRESETS
from rnnsearch_tf.config.text_checks import names_development_text
from rnnsearch_tf.config.yaml_files import parse_value, read_with_bases, read_yaml
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.atomic import write_file

SectionT = typing.TypeVar("SectionT")

LAST_WITH_ALL = "ff94a411"
"""The last commit that has every option of the configurations that were saved before."""


def load_config(
    path: AnyPath | None = None,
    overrides: Sequence[str] = (),
    values: Tree | None = None,
    below: Tree | None = None,
    called: AnyPath | None = None,
) -> Config:
    """Read a configuration, check it, and return it.

    An option of the file that loses its effect through an override is reset to its default, as is
    one of a base that loses it through the file. If the development text is removed, so are the
    evaluation options.

    Args:
        path: YAML file, or the name of a shipped configuration, or None for the defaults.
            Only such a file may have a ``base``.
        overrides: strings ``section.key=value``; the value is read as YAML.
        values: nested dictionary to use instead of a file.
        below: nested dictionary that overrides the defaults but not the preset and the file; None:
            the defaults. Options without effect in it are reset to their defaults, as in a preset.
        called: name of the configuration in messages if there is no file.

    Returns:
        Config: frozen; every value has its declared type and lies within its limits.

    Raises:
        UsageError: the file is missing or not YAML; a key is unknown (the message names the nearest
            one); a value has the wrong type or is out of range; an option that is not at its
            default has no effect with the others; or a base is missing, is not a text, or leads
            back to the file.
    """
    where, (tree, *layers) = _layers(Config(), path, overrides, values)
    where = where if called is None else str(called)
    named = set(_names(tree))
    for layer in layers:
        _, below_it = _sections(tree, below, where)
        changed = set(_names(layer))
        # an option that lost its effect is reset to its default
        named = changed | (named & names_without_effect(below_it))
        tree = _merge(tree, layer)
        _, sections = _sections(tree, below, where)
        if names_development_text(below_it["data"]) and not names_development_text(
            sections["data"]
        ):
            tree = _merge(tree, {"training": evaluation_defaults(sections["training"], changed)})
    read, sections = _sections(tree, below, where)
    return _replaced(Config(), read | with_defaults_where_unnamed(sections, named), where)


def _sections(tree: Tree, below: Tree | None, where: str) -> tuple[Tree, dict[str, Section]]:
    """(the checked values of a nested dictionary, all sections with these values)."""
    read = _values(Config(), _merge(below or {}, _with_preset(tree)), where, prefix="")
    return read, {name: read.get(name, section) for name, section in sections_of(Config()).items()}


def saved_config(path: AnyPath, overrides: Sequence[str] = ()) -> Config:
    """Read the configuration of a RUN, which :func:`save_config` wrote.

    Options without effect, which earlier versions accepted, are reset to their defaults. Text in
    the RUN itself, of pairs that were given in Python, is found wherever the RUN is now.

    Args:
        path: the file.
        overrides: as in :func:`load_config`.

    Raises:
        UsageError: as in :func:`load_config`.
    """
    tree = _with_own_text(_with_preset(read_yaml(path)), pathlib.Path(path).parent)
    return load_config(overrides=overrides, below=tree, called=path)


def _with_own_text(tree: Tree, run: pathlib.Path) -> Tree:
    """A configuration whose paths of text in a RUN are those of this RUN, if it has such text."""
    data = tree.get("data")
    if not isinstance(data, dict):
        return tree
    found: dict[str, str] = {}
    for part in ("train", "development"):
        for side in ("source", "target"):
            own = pathlib.Path(os.path.abspath(run)) / "text" / f"{part}.{side}.txt"
            named = data.get(f"{part}_{side}")
            if isinstance(named, str) and pathlib.PurePath(named).parts[-2:] == own.parts[-2:]:
                found |= {f"{part}_{side}": str(own)} if own.exists() else {}
    return tree | {"data": data | found}


def named_options(
    path: AnyPath | None = None, overrides: Sequence[str] = (), default: Section = Config()
) -> set[str]:
    """Dotted names, such as ``data.batch_size``, of the options that a YAML file, its bases and
    overrides set.

    Args:
        path, overrides: as in :func:`load_config`.
        default: a Config, or another dataclass of options that the file describes.
    """
    _, layers = _layers(default, path, overrides, None)
    return {name for layer in layers for name in _names(layer)}


def shipped_configs() -> dict[str, pathlib.Path]:
    """Paths of the configurations that come with the package, by name."""
    return {
        path.stem: path
        for path in sorted(
            (pathlib.Path(__file__).parent / "shipped").glob("*.yaml"), key=lambda path: path.stem
        )
    }


def shipped_config(name: AnyPath) -> pathlib.Path:
    """The path of a shipped configuration.

    Raises:
        UsageError: none has that name.
    """
    shipped = shipped_configs()
    name = str(name)
    if name not in shipped:
        close = difflib.get_close_matches(name, shipped, n=1)
        hint = f"did you mean {close[0]}?" if close else "rnnsearch options lists them"
        raise UsageError(
            f"{name}: expected a YAML configuration file or the name of a shipped one, found"
            f" neither; {hint}"
        )
    return shipped[name]


def load_section(
    default: SectionT, path: AnyPath | None = None, overrides: Sequence[str] = ()
) -> SectionT:
    """Read a dataclass of options from its own file, and check it as :func:`load_config` does.

    Args:
        default: the dataclass with its defaults.
        path, overrides: as in :func:`load_config`.
    """
    where, layers = _layers(default, path, overrides, None)
    return _build(default, functools.reduce(_merge, layers), where, prefix="")


def check_value(name: str, value: Any, where: str | None = None) -> Any:
    """Check the value of one option as in a file: its type and limits, but not its relations to
    other options.

    Args:
        name: dotted name, such as ``search.beam_size``.
        value: the value to check.
        where: name of the option in messages; None: `name`.

    Returns:
        The value in its declared type.

    Raises:
        UsageError: the value has the wrong type or is out of range.
    """
    *sections, key = name.split(".")
    owner: Section = Config
    for section in sections:
        owner = typing.get_type_hints(owner)[section]
    field = next(field for field in dataclasses.fields(owner) if field.name == key)
    return _check(value, typing.get_type_hints(owner)[key], field, where or name)


def check_field(value: Any, hint: Any, field: dataclasses.Field[Any], where: str) -> Any:
    """Like :func:`check_value`, for an option that is declared outside of the configuration.

    Args:
        value: the value to check.
        hint: the declared type.
        field: from :func:`rnnsearch_tf.config.option.option`, with the limits.
        where: name of the option in messages.
    """
    return _check(value, hint, field, where)


def as_dictionary(config: Section) -> Tree:
    """The configuration as nested dictionaries of plain values, in declared order."""
    return dataclasses.asdict(config)


def save_config(config: Section, path: AnyPath) -> None:
    """Write the effective configuration, or another dataclass of options; loading the file gives an
    equal one.
    """
    text = yaml.safe_dump(as_dictionary(config), sort_keys=False, allow_unicode=True)
    write_file(path, text)


def option_fields(
    section_class: Section = Config, prefix: str = ""
) -> Iterator[tuple[str, dataclasses.Field[Any]]]:
    """Yield (dotted name, dataclass field) of every option, in declared order."""
    hints = typing.get_type_hints(section_class)
    for field in dataclasses.fields(section_class):
        if dataclasses.is_dataclass(hints[field.name]):
            yield from option_fields(hints[field.name], f"{prefix}{field.name}.")
        else:
            yield prefix + field.name, field


def default_of(name: str) -> Any:
    """The default of an option, which may differ between the source and the target side.

    Example:
        >>> default_of("source.language"), default_of("target.language")
        ('en', 'fr')
    """
    return operator.attrgetter(name)(Config())


def _layers(
    default: Section, path: AnyPath | None, overrides: Sequence[str], values: Tree | None
) -> tuple[str, list[Tree]]:
    """(name of the source in messages, nested dictionaries by rising precedence)."""
    if path is not None and values:
        raise UsageError(
            f"load_config: expected path or values, got both, {path} and {', '.join(values)}; leave"
            ' one out, or change the file\'s options with overrides=["section.key=value"]'
        )
    if path is None:
        where = "configuration"
        layers = [dict(values or {})]
    elif isinstance(default, Config):
        where, layers = _with_bases(path)
    else:
        where = str(path)
        layers = [read_yaml(_file(path))]
    changes: Tree = {}
    for text in overrides:
        update = _parsed(text)
        # checked separately, so that the error does not name the file
        _check_names(default, update, f"--set {text}")
        changes = _merge(changes, update)
    return where, [*layers, changes] if overrides else layers


def _with_bases(path: AnyPath) -> tuple[str, list[Tree]]:
    """(name of a file and its bases in messages, nested dictionaries by rising precedence)."""
    files = read_with_bases(str(path), _file(path), shipped_config)
    for name, tree in files:
        _check_names(Config(), tree, name)  # separately, so that the error names the right file
    *bases, last = [name for name, _ in files]
    where = f"{last} (base: {', '.join(reversed(bases))})" if bases else last
    return where, [tree for _, tree in files]


def _file(path: AnyPath) -> AnyPath:
    """The path itself, or that of the shipped configuration of this name if no file exists; a
    folder is none.
    """
    named = (
        (not os.path.exists(path) or os.path.isdir(path))
        and pathlib.PurePath(path).suffix == ""
        and len(pathlib.PurePath(path).parts) == 1
    )
    return shipped_config(path) if named else path


def _with_preset(tree: Tree) -> Tree:
    """A nested dictionary, merged over the values of the preset that it names."""
    preset = tree.get("preset")
    return _merge(PRESETS[preset], tree) if isinstance(preset, str) and preset in PRESETS else tree


def _parsed(text: str) -> Tree:
    """``section.key=value`` as a nested dictionary."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(
            f"--set {text}: expected section.key=value, for example model.hidden_size=256"
        )
    *sections, key = name.strip().split(".")
    if not _is_plain_text(name.strip(), value):
        value = parse_value(value, f"--set {text}")
    update: Tree = {key: value}
    for section in reversed(sections):
        update = {section: update}
    return update


def _is_plain_text(name: str, value: str) -> bool:
    """Whether a value is unquoted text, such as a path, of an option that takes text; it is then
    not parsed as YAML.
    """
    if not value or value != value.strip() or value in ("null", "~") or value[0] in "'\"[{":
        return False
    hint = _type_hints().get(name)
    return hint is str or isinstance(hint, types.UnionType) and str in typing.get_args(hint)


@functools.cache
def _type_hints() -> dict[str, Any]:
    """{dotted name: type} of every option."""
    hints: dict[str, Any] = {}
    for section, owner in typing.get_type_hints(Config).items():
        if dataclasses.is_dataclass(owner):
            inner = typing.get_type_hints(owner)
            hints |= {f"{section}.{key}": hint for key, hint in inner.items()}
        else:
            hints[section] = owner
    return hints


def _check_names(default: Section, tree: Any, where: str, prefix: str = "") -> None:
    """Refuse an unknown name or a bad value, independently of the other options."""
    for key, value, section in _entries(default, tree, where, prefix):
        if section is not None:
            _check_names(section, value, where, f"{prefix}{key}.")


def _names(tree: Tree, prefix: str = "") -> Iterator[str]:
    """Dotted names of the values in a nested dictionary."""
    for key, value in tree.items():
        yield from (
            _names(value, f"{prefix}{key}.") if isinstance(value, dict) else [f"{prefix}{key}"]
        )


def _merge(below: Tree, above: Tree) -> Tree:
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merge(merged[key], value) if both else value
    return merged


def _build(default: Section, tree: Any, where: str, prefix: str) -> Section:
    """The section `default` with the values of a dictionary, every key and value checked."""
    return _replaced(default, _values(default, tree, where, prefix), where)


def _values(default: Section, tree: Any, where: str, prefix: str) -> Tree:
    """{key: checked value, or the section within this one}."""
    values = {}
    for key, value, section in _entries(default, tree, where, prefix):
        values[key] = value if section is None else _build(section, value, where, f"{prefix}{key}.")
    return values


def _replaced(default: Section, values: Tree, where: str) -> Section:
    """The dataclass with other values; errors of its own checks name the place."""
    try:
        return dataclasses.replace(default, **values)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None


def _entries(
    default: Section, tree: Any, where: str, prefix: str
) -> Iterator[tuple[str, Any, Section | None]]:
    """Yield (key, checked value, None) of every option, and (key, dictionary, default) of every
    section within this one.
    """
    if not isinstance(tree, dict):
        raise UsageError(
            f"{where}: {prefix.rstrip('.')}: expected a section of `key: value` lines, got {tree!r}"
        )
    hints = typing.get_type_hints(type(default))
    fields = {field.name: field for field in dataclasses.fields(default)}
    for key, value in tree.items():
        if key not in fields:
            known = [*fields, "base"] if isinstance(default, Config) else fields
            if key in known:
                raise UsageError(
                    f"{where}: base: expected none here, got {value!r}; only a YAML file that"
                    " --config names may have a base: write the options out, or write base into"
                    " such a file"
                )
            hint = _nearest(prefix, key, known)
            if pathlib.PurePath(where).name == "config.yaml":  # training wrote it
                hint = f"; options were removed after commit {LAST_WITH_ALL}, which still reads it"
            raise UsageError(f"{where}: unknown option {prefix}{key}{hint}")
        if dataclasses.is_dataclass(hints[key]):
            yield key, value, getattr(default, key)
        else:
            yield key, _check(value, hints[key], fields[key], f"{where}: {prefix}{key}"), None


def _nearest(prefix: str, key: str, fields: Iterable[str]) -> str:
    """The hint "; did you mean ...?" for a misspelt or misplaced key."""
    close = difflib.get_close_matches(str(key), fields, n=1)
    if close:
        return f"; did you mean {prefix}{close[0]}?"
    everywhere = {name.rpartition(".")[2]: name for name, _ in option_fields()}
    if key in everywhere:
        return f"; did you mean {everywhere[key]}?"
    return f"; expected one of {', '.join(fields)}"


def _check_list(
    value: Any, kind: Any, field: dataclasses.Field[Any], where: str
) -> tuple[Any, ...]:
    """A YAML list as a tuple, each entry checked."""
    if not isinstance(value, (list, tuple)) or not value:
        raise UsageError(f"{where}: expected a list such as [a, b], got {value!r}")
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return tuple(
            _build(kind(), entry, f"{where}: entry {number}", prefix="")
            for number, entry in enumerate(value, start=1)
        )
    return tuple(_check(entry, kind, field, where) for entry in value)


def _check_code(value: Any, pattern: str, where: str) -> str:
    """A language code."""
    value = "no" if value is False else value  # YAML reads no, Norwegian, as false
    if not isinstance(value, str) or not re.fullmatch(pattern, value):
        raise UsageError(
            f"{where}: expected a language code such as es, tdt or pt-BR, got {value!r}"
        )
    return value


def _check(value: Any, hint: Any, field: dataclasses.Field[Any], where: str) -> Any:
    """The value in its declared type; UsageError if it has another type or is out of range."""
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if value is None and type(None) in kinds:
        return None
    kind = next(k for k in kinds if k is not type(None))
    lists = [k for k in kinds if typing.get_origin(k) is tuple]
    # a list, or the alternative of a union that is written as a list
    if lists and (kind in lists or isinstance(value, (list, tuple))):
        kind = lists[0]
        return _check_list(value, typing.get_args(kind)[0], field, where)
    if kind is float and isinstance(value, str):  # YAML reads 1e-3 as a string
        try:
            value = float(value)
        except ValueError:
            pass
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        try:
            value = float(value)
        except OverflowError:
            value = math.inf  # refused below
    meta = field.metadata
    if meta["pattern"]:
        return _check_code(value, meta["pattern"], where)
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    if type(value) is not kind and not meta["choices"]:
        raise UsageError(f"{where}: expected {names[kind]}, got {value!r}")
    if meta["choices"] and value not in meta["choices"]:
        text = str(value)
        close = difflib.get_close_matches(text, meta["choices"], n=1)
        hint_text = f"; did you mean {close[0]}?" if close else ""
        raise UsageError(
            f"{where}: expected one of {', '.join(meta['choices'])}, got {value!r}{hint_text}"
        )
    if kind is float and not math.isfinite(value):
        raise UsageError(f"{where}: expected a number, got {value}")
    for name, (within, words) in LIMITS.items():
        if meta[name] is not None and not within(value, meta[name]):
            raise UsageError(f"{where}: expected {words} {meta[name]}, got {value}")
    return value
