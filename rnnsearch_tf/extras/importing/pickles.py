"""Read pickles of plain values without running anything from them.

The programs of 2014 kept options and vocabularies as Python 2 pickles. A pickle is a program that
may call any function; here only the instructions that make dictionaries, lists, strings and numbers
are allowed, and all instructions are looked at before the first is carried out. An OrderedDict, for
which a pickle calls its class, becomes a dictionary.
"""

from __future__ import annotations

import io
import os
import pickle
import pickletools
from collections.abc import Container, Iterator
from typing import Any

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.untrusted import MOST_TOKENS

MOST_BYTES = 1 << 28
"""Most bytes of a pickle."""

MOST_MEMO = 1 << 24
"""Highest number under which a value may be stored; unpickling reserves memory for all of them."""

MOST_INSTRUCTIONS = 5 * MOST_TOKENS
"""A vocabulary has four for each token: the token, its id, their place in the dictionary, and the
number under which the token is stored."""

MOST_TUPLES = 10_000
"""Computing the hash of a deeper tuple ends the process."""

PLAIN = frozenset(
    """
    PROTO FRAME STOP MARK POP POP_MARK DUP MEMOIZE PUT BINPUT LONG_BINPUT GET BINGET LONG_BINGET
    NONE NEWTRUE NEWFALSE INT BININT BININT1 BININT2 LONG LONG1 FLOAT BINFLOAT
    STRING BINSTRING SHORT_BINSTRING UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8
    BINBYTES SHORT_BINBYTES BINBYTES8
    EMPTY_DICT DICT SETITEM SETITEMS EMPTY_LIST LIST APPEND APPENDS
    EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3
""".split()
)
"""The instructions that make plain values."""

ORDERED_DICT = "GLOBAL", b"collections\nOrderedDict\n"
"""The instruction that names an OrderedDict: the only thing that REDUCE can call here."""

INSTRUCTIONS = {code.code: code for code in pickletools.opcodes}
LENGTHS = {
    pickletools.TAKEN_FROM_ARGUMENT1: 1,
    pickletools.TAKEN_FROM_ARGUMENT4: 4,
    pickletools.TAKEN_FROM_ARGUMENT4U: 4,
    pickletools.TAKEN_FROM_ARGUMENT8U: 8,
}
"""Number of bytes of the length of an argument."""


class OrderedDict(dict):
    """Stands for ``collections.OrderedDict``; its attributes are ignored. The pairs that it is made
    of are removed from their list, so that no file makes many copies of one.
    """

    __slots__ = ()

    def __init__(self, *pairs: Any) -> None:
        super().__init__(*pairs)
        for each in pairs:
            each.clear()

    def __setstate__(self, state: Any) -> None:
        pass


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        raise pickle.UnpicklingError(f"{module}.{name}")


def read_pickle(path: AnyPath) -> Any:
    """Read a pickle that consists of dictionaries, also those of the class OrderedDict, lists,
    tuples, strings, numbers, True, False and None.

    Args:
        path: the file. Strings of Python 2 are read as UTF-8; invalid bytes become U+FFFD.

    Raises:
        UserError: the file is missing, damaged or too large, or it contains anything else.
    """
    try:
        size = os.path.getsize(path)
        if size > MOST_BYTES:
            raise UserError(
                f"{path}: refused: expected a pickle of at most {MOST_BYTES:,} bytes, got {size:,}"
            )
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise UserError(
            f"{path}: expected a pickle, got: {error.strerror}; check the path"
        ) from None
    check_instructions(path, data, PLAIN | {"REDUCE"})
    try:
        return _PlainUnpickler(io.BytesIO(data), encoding="utf-8", errors="replace").load()
    except Exception as error:  # a damaged pickle may raise anything
        raise _damaged(path, error) from None


def check_instructions(path: AnyPath, data: bytes, allowed: Container[str]) -> None:
    """Look at every instruction of a pickle before any is carried out.

    Args:
        path: its file, for errors.
        data: the pickle.
        allowed: names of the instructions that it may have.

    Raises:
        UserError: it has another one, reserves too much memory, or is damaged.
    """
    try:
        tuples = 0
        for number, (name, argument, position) in enumerate(_instructions(data)):
            tuples += name.startswith("TUPLE")
            if number >= MOST_INSTRUCTIONS or tuples > MOST_TUPLES:
                raise UserError(
                    f"{path}: refused: expected at most {MOST_INSTRUCTIONS:,} instructions and"
                    f" {MOST_TUPLES:,} tuples, got more at byte {position}; is the file damaged?"
                )
            if name not in allowed and (name, argument) != ORDERED_DICT:
                raise UserError(
                    f"{path}: refused: expected dictionaries, lists, strings and numbers, got the"
                    f" instruction {name} {argument[:60]!r} at byte {position}; nothing of this"
                    " file was carried out"
                )
            place = _place(name, argument)
            if place > MOST_MEMO:
                raise UserError(
                    f"{path}: refused: expected numbers of values up to {MOST_MEMO:,}, got"
                    f" {place:,} at byte {position}"
                )
    except (ValueError, KeyError, IndexError) as error:
        raise _damaged(path, error) from None


def _instructions(data: bytes) -> Iterator[tuple[str, bytes, int]]:
    """(name, bytes of the argument, position) of every instruction up to the end.

    ``pickletools.genops`` would do, but it cannot read strings of Python 2 that are not ASCII.
    """
    position = 0
    while True:
        code = INSTRUCTIONS[data[position : position + 1].decode("latin-1")]
        begin = position + 1
        size = 0 if code.arg is None else code.arg.n
        if size == pickletools.UP_TO_NEWLINE:
            end = begin
            for _ in range(2 if code.name in ("GLOBAL", "INST") else 1):
                end = data.index(b"\n", end) + 1
        else:
            if size < 0:  # the argument begins with its length
                width = LENGTHS[size]
                size = width + int.from_bytes(data[begin : begin + width], "little")
            end = begin + size
        if end > len(data):
            raise ValueError(f"the argument of {code.name} is cut off")
        yield code.name, data[begin:end], position
        if code.name == "STOP":
            return
        position = end


def _place(name: str, argument: bytes) -> int:
    """The number under which an instruction stores a value; 0 if it stores none."""
    if name == "PUT":  # in digits
        return int(argument)
    return int.from_bytes(argument, "little") if name in ("BINPUT", "LONG_BINPUT") else 0


def _damaged(path: AnyPath, error: Exception) -> UserError:
    return UserError(
        f"{path}: expected a pickle, got a damaged or other file ({error}); copy it again"
    )
