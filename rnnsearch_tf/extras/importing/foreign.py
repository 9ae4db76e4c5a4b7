"""What the importers of all programs share: the description of a model of another program, and
writing it as a RUN.
"""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rnnsearch_tf.config import Config, load_config
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.extras.importing.arrays import ArrayFile, Change, Shape
from rnnsearch_tf.extras.importing.vocabularies import Rows
from rnnsearch_tf.models import TranslationModel, build_model
from rnnsearch_tf.text.pipeline import Text
from rnnsearch_tf.text.vocabulary import Vocabulary


@dataclasses.dataclass(frozen=True)
class ForeignModel:
    """A model of another program in the terms of this one.

    Attributes:
        program: its name.
        values: the configuration, as nested dictionaries like a YAML file.
        weights: {name: function that returns the float32 array} with the names of
            ``TranslationModel.blocks``. Biases and shifts that are not among them are zero.
        source, target: the vocabularies.
        parameters: number of values that the other program's model has.
        found: lines that say what was found.
    """

    program: str
    values: dict[str, Any]
    weights: Mapping[str, Callable[[], np.ndarray]]
    source: Rows
    target: Rows
    parameters: int
    found: Sequence[str]


class WeightMap:
    """Which array of another program becomes which weight here, and the shape that it must have.

    Args:
        arrays: the file.
        stored: function from a name that is given to `take` to the name in the file.

    Attributes:
        shapes: {name there: shape} of the arrays that were taken.
        weights: {name here: function that returns the array}, see :class:`ForeignModel`.
    """

    def __init__(self, arrays: ArrayFile, stored: Callable[[str], str] = str) -> None:
        self.arrays = arrays
        self.stored = stored
        self.shapes: dict[str, Shape] = {}
        self.weights: dict[str, Callable[[], np.ndarray]] = {}

    def take(self, ours: str, theirs: str, shape: Shape, change: Change = np.asarray) -> None:
        """Make a weight of an array of this shape, after a change.

        Raises:
            UserError: the array is missing or has another shape.
        """
        self.take_all(ours, {self.stored(theirs): shape}, change)

    def take_all(self, ours: str, theirs: Mapping[str, Shape], change: Change) -> None:
        """Make a weight of several arrays, given to `change` in this order.

        Raises:
            UserError: an array is missing or has another shape.
        """
        self.arrays.check(theirs)
        self.shapes |= theirs
        self.weights[ours] = lambda: change(*map(self.arrays.read, theirs))


def gate_part(number: int, parts: int, change: Change = np.asarray) -> Change:
    """The change to the columns of one of several gates, after another change."""
    return lambda *arrays: np.split(change(*arrays), parts, axis=-1)[number]


LENGTHS = (
    "the search there divides by ((5 + length) / 6)^A; the RUN divides by nothing, and with --set"
    " search.length_penalty=A by length^A"
)
"""What the RUN does in place of a length penalty as of Wu et al. 2016."""


def option(options: Mapping[str, Any], name: str, kind: type, where: AnyPath) -> Any:
    """An option of the other program.

    Raises:
        UserError: it is missing or has another type.
    """
    value = options.get(name)
    if kind is int and isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is int and abs(value) >= 1 << 63:
        raise UserError(f"{where}: {name}: expected a smaller number; is the file damaged?")
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool):
        raise UserError(
            f"{where}: {name}: expected {kind.__name__}, got {reprlib.repr(value)}; is it the"
            " options of this model?"
        )
    return value


def refuse_others(
    options: Mapping[str, Any],
    supported: Mapping[str, Sequence[Any]],
    where: AnyPath,
    needs: Mapping[str, str],
) -> None:
    """Refuse options with values that no system here computes.

    Args:
        options: those of the other program.
        supported: {name: values that can be imported}; an option that is missing or null is
            supported.
        where: their file, for errors.
        needs: {name: what importing it would need}.

    Raises:
        UserError: an option has another value.
    """
    for name, values in supported.items():
        value = options.get(name)
        if value is not None and value not in values:
            wanted = " or ".join(map(repr, values))
            raise UserError(
                f"{where}: {name}: expected {wanted}, got {reprlib.repr(value)}: no"
                f" system here computes it; it needs {needs.get(name, 'another layer')}"
            )


def not_taken_over(options: Mapping[str, Any], hints: Mapping[str, tuple[float, str]]) -> list[str]:
    """Lines for options of the other program's search that are set and have no effect here.

    Args:
        options: those of the other program.
        hints: {name: (largest value that changes nothing there, what the RUN does instead)}.
    """
    lines = []
    for name, (off, hint) in hints.items():
        value = options.get(name)
        if value is not None and not (isinstance(value, (int, float)) and value <= off):
            lines.append(f"not taken over: {name} {reprlib.repr(value)}; {hint}")
    return lines


def configuration(foreign: ForeignModel, overrides: Sequence[str] = ()) -> Config:
    """The checked configuration of the imported model.

    Args:
        foreign: the model.
        overrides: ``NAME=VALUE`` of options, such as the tokenization of the source side.
    """
    text = {
        side: dict(tokenization="space", unicode_form="none", vocabulary_size=len(rows.tokens))
        for side, rows in (("source", foreign.source), ("target", foreign.target))
    }
    return load_config(values=foreign.values | text, overrides=overrides)


def built(
    foreign: ForeignModel, overrides: Sequence[str] = ()
) -> tuple[TranslationModel, Text, Text, Config]:
    """The imported model, and what a Translator needs beside it.

    Raises:
        UserError: arrays are missing or do not fit the configuration.
    """
    config = configuration(foreign, overrides)
    source = Text(config.source, Vocabulary(foreign.source.tokens))
    target = Text(config.target, Vocabulary(foreign.target.tokens))
    model = build_model(config, source.vocabulary.size, target.vocabulary.size)
    for name, block in model.blocks().items():
        if name in foreign.weights:
            value = foreign.weights[name]()
        elif name.rpartition(".")[2].startswith("b") or name.endswith("_shift"):
            value = np.zeros(block.shape, np.float32)
        else:
            raise UserError(
                f"{foreign.program}: expected the weight {name}, found none in the files"
            )
        if value.shape != block.shape:
            raise UserError(f"{foreign.program}: {name}: expected {block.shape}, got {value.shape}")
        block.write(value)
    unknown = set(foreign.weights) - set(model.blocks())
    if unknown:
        raise UserError(
            f"{foreign.program}: no place for {', '.join(sorted(unknown))} in this configuration"
        )
    return model, source, target, config


def parameter_counts(foreign: ForeignModel, model: TranslationModel) -> list[str]:
    """Lines that say how many parameters both sides have, why they differ, and which words could
    not be written as tokens.
    """
    lines = [
        f"parameters: {foreign.parameters:,} there, {model.count_params():,} here; those only"
        " here are biases and shifts of zero, rows of the padding, and copies of shared embeddings"
    ]
    for side in ("source", "target"):
        rows = getattr(foreign, side)
        lines.append(f"{side} vocabulary: {len(rows.tokens):,} entries with the padding")
        if rows.renamed:
            lines[-1] += (
                f"; {rows.renamed:,} of them are no words of a text (spaces, spelled like special"
                " tokens, or without a word) and are named <entry-NUMBER>"
            )
    return lines
