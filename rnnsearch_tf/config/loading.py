"""Configurations: read, checked against what ``options.py`` declares, written.

Loading checks every key and value; an unknown key is refused with the nearest
name. Values are taken in this order, later ones winning::

    defaults  <  below  <  preset  <  base  <  YAML file  <  --set section.key=value

A YAML file may begin with ``base:``, which names another one to lay its values over,
section by section: a shipped configuration by its name, or a file by its path, relative
to the file that names it. A base may have a base. A list takes the place of the base's.
The preset of a base holds unless the file names its own, or ``preset: null``. Either lies
below the values of both.

Nothing here imports TensorFlow, so that ``--help`` and the checks answer at once.

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
from collections.abc import Sequence

import yaml

from rnnsearch_tf.config.effects import (
    evaluation_defaults,
    names_without_effect,
    sections_of,
    with_defaults_where_unnamed,
)
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.files.atomic import write_file
from rnnsearch_tf.config.options import (  # noqa: F401  what the package calls its configuration
    Config,
    DataConfig,
    END_ID,
    ModelConfig,
    PAD_ID,
    PRESETS,
    SPECIAL_TOKENS,
    SearchConfig,
    TextConfig,
    TrainingConfig,
    UNKNOWN_ID,
)
from rnnsearch_tf.config.training_text import names_development_text
from rnnsearch_tf.config.yaml_files import (
    parse_value,
    read_with_bases,
    read_yaml,
)  # noqa: F401


def load_config(
    path: str | os.PathLike | None = None,
    overrides: Sequence[str] = (),
    values: dict | None = None,
    below: dict | None = None,
    called: str | os.PathLike | None = None,
) -> Config:
    """Read a configuration, check it, and return it.

    Args:
        path: YAML file, or the name of a shipped configuration, or None for the defaults.
            Only such a file may have a ``base``.
        overrides: strings ``section.key=value``; the value is read as YAML.
        values: nested dictionary to use in place of a file.
        below: nested dictionary of what stands where neither the file nor its preset says
            otherwise; None: the defaults. What has no effect there is at its default, as it is in a
            preset.
        called: what messages call the configuration where there is no file.

    Returns:
        Config: frozen; every value has its declared type and lies within its limits.

    Raises:
        UsageError: the file is missing or not YAML, a key is unknown (the message
            names the nearest one), a value has the wrong type or is out of range, or an option that
            is not at its default has no effect beside the others. An option of the file that loses
            its effect by an override takes its default; so does one of a base that loses it by the
            file. If the development text is taken away, the options of the evaluations take their
            defaults too. Or a base is missing, is no text, or leads back to the file.
    """
    where, (tree, *layers) = _layers(Config(), path, overrides, values)
    where = where if called is None else str(called)
    named = set(_names(tree))
    for layer in layers:
        _, below_it = _sections(tree, below, where)
        changed = set(_names(layer))
        # what lost its effect takes its default
        named = changed | (named & names_without_effect(below_it))
        tree = _merge(tree, layer)
        _, sections = _sections(tree, below, where)
        if names_development_text(below_it["data"]) and not names_development_text(
            sections["data"]
        ):
            tree = _merge(tree, {"training": evaluation_defaults(sections["training"], changed)})
    read, sections = _sections(tree, below, where)
    return _made(Config(), read | with_defaults_where_unnamed(sections, named), where)


def _sections(tree, below, where):
    """(the checked values of a nested dictionary, every section with them put in)."""
    read = _values(Config(), _merge(below or {}, _with_preset(tree)), where, prefix="")
    return read, {name: read.get(name, section) for name, section in sections_of(Config()).items()}


def saved_config(path: str | os.PathLike, overrides: Sequence[str] = ()) -> Config:
    """The configuration that :func:`save_config` wrote, of a RUN.

    Options without effect, which earlier versions took, are at their defaults.

    Args:
        path: of the file.
        overrides: as of :func:`load_config`.

    Raises:
        UsageError: as there.
    """
    return load_config(overrides=overrides, below=_with_preset(read_yaml(path)), called=path)


def named_options(
    path: str | os.PathLike | None = None, overrides: Sequence[str] = (), default=Config()
) -> set:
    """Dotted names, such as ``data.batch_size``, of what a YAML file, its bases and overrides set.

    Args:
        path, overrides: as of :func:`load_config`.
        default: a Config, or the dataclass of options that the file is of.
    """
    _, layers = _layers(default, path, overrides, None)
    return {name for layer in layers for name in _names(layer)}


def shipped_configs() -> dict:
    """Paths of the configurations that come with the package, by name."""
    return {
        path.stem: path
        for path in sorted(
            (pathlib.Path(__file__).parent / "shipped").glob("*.yaml"), key=lambda path: path.stem
        )
    }


def shipped_config(name) -> pathlib.Path:
    """The path of a shipped configuration.

    Raises:
        UsageError: there is none of that name.
    """
    shipped = shipped_configs()
    if name not in shipped:
        close = difflib.get_close_matches(str(name), shipped, n=1)
        hint = f"did you mean {close[0]}?" if close else "rnnsearch configs lists them"
        raise UsageError(
            f"{name}: expected a YAML configuration file or the name of a shipped one, found"
            f" neither; {hint}"
        )
    return shipped[name]


def load_section(default, path=None, overrides=()):
    """A dataclass of options that is a file of its own, read and checked as :func:`load_config`
    does it.

    Args:
        default: the dataclass with the values that the file need not repeat.
        path, overrides: as there.
    """
    where, layers = _layers(default, path, overrides, None)
    return _build(default, functools.reduce(_merge, layers), where, prefix="")


def check_value(name, value, where=None):
    """One option's value, checked as in a file: its type and limits, not what depends on other
    options.

    Args:
        name: dotted name, such as ``search.beam_size``.
        value: of the declared type.
        where: what the error message calls it; None takes the name.

    Raises:
        UsageError: the value has the wrong type or is out of range.
    """
    *sections, key = name.split(".")
    owner = Config
    for section in sections:
        owner = typing.get_type_hints(owner)[section]
    field = next(field for field in dataclasses.fields(owner) if field.name == key)
    return _check(value, typing.get_type_hints(owner)[key], field, where or name)


def check_field(value, hint, field, where):
    """:func:`check_value` of an option that is declared outside of the configuration.

    Args:
        value: of the declared type.
        hint: the declared type.
        field: from :func:`rnnsearch_tf.config.options.option`, with the limits.
        where: what the error message calls it.
    """
    return _check(value, hint, field, where)


def as_dictionary(config) -> dict:
    """The configuration as nested dictionaries of plain values, in declared order."""
    return dataclasses.asdict(config)


def save_config(config, path) -> None:
    """Write the effective configuration, or another dataclass of options; loading the file gives an
    equal one.
    """
    text = yaml.safe_dump(as_dictionary(config), sort_keys=False, allow_unicode=True)
    write_file(path, text)


def option_fields(section_class=Config, prefix=""):
    """Yield (dotted name, dataclass field) of every option, in declared order."""
    hints = typing.get_type_hints(section_class)
    for field in dataclasses.fields(section_class):
        if dataclasses.is_dataclass(hints[field.name]):
            yield from option_fields(hints[field.name], f"{prefix}{field.name}.")
        else:
            yield prefix + field.name, field


def default_of(name: str):
    """The default of an option; the two sides have other ones.

    Example:
        >>> default_of("source.language"), default_of("target.language")
        ('en', 'fr')
    """
    return operator.attrgetter(name)(Config())


def _layers(default, path, overrides, values):
    """(what messages call the source, nested dictionaries, the lowest first)."""
    if path is None:
        where = "configuration"
        layers = [dict(values or {})]
    elif isinstance(default, Config):
        where, layers = _with_bases(path)
    else:
        where = str(path)
        layers = [read_yaml(_file(path))]
    changes = {}
    for text in overrides:
        update = _parsed(text)
        # by itself, so that the file is not blamed for it
        _check_names(default, update, f"--set {text}")
        changes = _merge(changes, update)
    return where, [*layers, changes] if overrides else layers


def _with_bases(path):
    """(what messages call a file and its bases, their nested dictionaries, the lowest first)."""
    files = read_with_bases(str(path), _file(path), shipped_config)
    for name, tree in files:
        _check_names(Config(), tree, name)  # by itself, so that no other file is blamed for it
    *bases, own = [name for name, _ in files]
    where = f"{own} (base: {', '.join(reversed(bases))})" if bases else own
    return where, [tree for _, tree in files]


def _file(path):
    """A file that is there, or the shipped configuration of this name."""
    named = (
        not pathlib.Path(path).exists()
        and pathlib.PurePath(path).suffix == ""
        and len(pathlib.PurePath(path).parts) == 1
    )
    return shipped_config(path) if named else path


def _with_preset(tree: dict) -> dict:
    """A nested dictionary laid over what the preset that it names fixes."""
    preset = tree.get("preset")
    return _merge(PRESETS[preset], tree) if isinstance(preset, str) and preset in PRESETS else tree


def _parsed(text: str) -> dict:
    """One ``section.key=value`` as a nested dictionary."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(
            f"--set {text}: expected section.key=value, for example model.hidden_size=256"
        )
    *sections, key = name.strip().split(".")
    if not _is_plain_text(name.strip(), value):
        value = parse_value(value, f"--set {text}")
    update = {key: value}
    for section in reversed(sections):
        update = {section: update}
    return update


def _is_plain_text(name, value):
    """Whether a value is of an option that takes text, a path say, and is written without quotes:
    then it is what stands there.
    """
    if not value or value != value.strip() or value in ("null", "~") or value[0] in "'\"[{":
        return False
    hint = _type_hints().get(name)
    return hint is str or isinstance(hint, types.UnionType) and str in typing.get_args(hint)


@functools.cache
def _type_hints():
    """{dotted name: type} of every option."""
    hints = {}
    for section, owner in typing.get_type_hints(Config).items():
        own = typing.get_type_hints(owner) if dataclasses.is_dataclass(owner) else {None: owner}
        hints |= {section if key is None else f"{section}.{key}": hint for key, hint in own.items()}
    return hints


def _check_names(default, tree, where, prefix=""):
    """Refuse an unknown name or a bad value, whatever the other options are."""
    for key, value, section in _entries(default, tree, where, prefix):
        if section is not None:
            _check_names(section, value, where, f"{prefix}{key}.")


def _names(tree, prefix=""):
    """Dotted names of what a nested dictionary has."""
    for key, value in tree.items():
        yield from (
            _names(value, f"{prefix}{key}.") if isinstance(value, dict) else [f"{prefix}{key}"]
        )


def _merge(below: dict, above: dict) -> dict:
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merge(merged[key], value) if both else value
    return merged


def _build(default, tree, where, prefix):
    """The section `default` with its dictionary's values put in, every key and value checked."""
    return _made(default, _values(default, tree, where, prefix), where)


def _values(default, tree, where, prefix):
    """{key: checked value}; of a section within this one the section."""
    values = {}
    for key, value, section in _entries(default, tree, where, prefix):
        values[key] = value if section is None else _build(section, value, where, f"{prefix}{key}.")
    return values


def _made(default, values, where):
    try:
        return dataclasses.replace(default, **values)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None


def _entries(default, tree, where, prefix):
    """Yield (key, its checked value, None), or (key, dictionary, the section's default) of a
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
            raise UsageError(f"{where}: unknown option {prefix}{key}{_nearest(prefix, key, known)}")
        if dataclasses.is_dataclass(hints[key]):
            yield key, value, getattr(default, key)
        else:
            yield key, _check(value, hints[key], fields[key], f"{where}: {prefix}{key}"), None


def _nearest(prefix, key, fields) -> str:
    """The words "; did you mean ...?" for a misspelt or misplaced key."""
    close = difflib.get_close_matches(str(key), fields, n=1)
    if close:
        return f"; did you mean {prefix}{close[0]}?"
    everywhere = {name.rpartition(".")[2]: name for name, _ in option_fields()}
    if key in everywhere:
        return f"; did you mean {everywhere[key]}?"
    return f"; expected one of {', '.join(fields)}"


def _check_list(value, kind, field, where):
    """A YAML list as a tuple, each entry checked."""
    if not isinstance(value, (list, tuple)) or not value:
        raise UsageError(f"{where}: expected a list such as [a, b], got {value!r}")
    if dataclasses.is_dataclass(kind):
        return tuple(
            _build(kind(), entry, f"{where}: entry {number}", prefix="")
            for number, entry in enumerate(value, start=1)
        )
    return tuple(_check(entry, kind, field, where) for entry in value)


def _check_code(value, pattern, where):
    """A language code."""
    value = "no" if value is False else value  # Norwegian, which YAML takes for false
    if not isinstance(value, str) or not re.fullmatch(pattern, value):
        raise UsageError(
            f"{where}: expected a language code such as es, tdt or pt-BR, got {value!r}"
        )
    return value


def _check(value, hint, field, where):
    """The value, of its declared type and within its limits, or an error."""
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if value is None and type(None) in kinds:
        return None
    kind = next(k for k in kinds if k is not type(None))
    lists = [k for k in kinds if typing.get_origin(k) is tuple]
    # a list, or the one of several things that is written as one
    if lists and (kind in lists or isinstance(value, (list, tuple))):
        kind = lists[0]
        return _check_list(value, typing.get_args(kind)[0], field, where)
    if kind is float and isinstance(value, str):  # YAML reads 1e-3 as a string
        try:
            value = float(value)
        except ValueError:
            pass
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    meta = field.metadata
    if meta["pattern"]:
        return _check_code(value, meta["pattern"], where)
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    if type(value) is not kind and not meta["choices"]:
        raise UsageError(f"{where}: expected {names[kind]}, got {value!r}")
    if meta["choices"] and value not in meta["choices"]:
        text = str(value)
        close = (
            [meta["renamed"][text]]
            if text in meta["renamed"]
            else difflib.get_close_matches(text, meta["choices"], n=1)
        )
        hint_text = f"; did you mean {close[0]}?" if close else ""
        raise UsageError(
            f"{where}: expected one of {', '.join(meta['choices'])}, got {value!r}{hint_text}"
        )
    if kind is float and not math.isfinite(value):
        raise UsageError(f"{where}: expected a number, got {value}")
    for limit, fine, words in (
        (meta["minimum"], lambda a, b: a >= b, "at least"),
        (meta["maximum"], lambda a, b: a <= b, "at most"),
        (meta["above"], lambda a, b: a > b, "more than"),
    ):
        if limit is not None and not fine(value, limit):
            raise UsageError(f"{where}: expected {words} {limit}, got {value}")
    return value
