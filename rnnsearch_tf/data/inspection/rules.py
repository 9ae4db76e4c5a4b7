"""What is wrong with a line or a pair: the rules by which `doctor` counts and `doctor --fix`
cleans.
"""

from __future__ import annotations

import dataclasses
import functools
import html
import html.entities
import re
import unicodedata
from collections.abc import Callable, Sequence

import tensorflow as tf

from rnnsearch_tf.config import TextConfig
from rnnsearch_tf.text.characters import INVISIBLE_CHARACTERS
from rnnsearch_tf.text.languages import UNSEGMENTED, base
from rnnsearch_tf.text.moses import detokenize

REMEMBERED_PAIRS = 1_000_000
"""Pairs checked for duplicates and swapped sides; a limit on memory."""

TOKENIZED_SHARE = 0.25
"""Share of lines that look tokenized above which a side is. Tatoeba, Multi30k and Python's
documentation have at most 0.1 %, the tokenized texts of Multi30k and Tanaka at least 89 %.
"""

PAIRS = {
    "invalid": "are not UTF-8",
    "empty": "are empty on one side or both",
    "unpaired": "have no partner",
    "malformed": "are not `source ||| target ||| scores`",
    "swapped": "have swapped languages",
    "copy": "have the same text on both sides",
    "unequal": "have one side more than three times as long as the other",
    "language": "have a side in another language",
    "duplicate": "are duplicates",
}
"""{kind: what pairs of this kind are}."""


@dataclasses.dataclass(frozen=True)
class Change:
    """A change that cleans lines; the lines that it leaves as they are had no such problem.

    Attributes:
        kind: one word.
        found: what lines of this kind are.
        done: what the change does to them.
        apply: function of lines that returns the changed lines.
    """

    kind: str
    found: str
    done: str
    apply: Callable[[Sequence[str]], Sequence[str]]


def changes() -> list[Change]:
    """The changes to lines, in the order in which they are made."""
    return [
        Change("markup", "have markup", "removed it, kept its text", _each(_without_markup)),
        Change("entities", "have HTML entities", "decoded", _each(_decoded)),
        Change("invisible", "have invisible characters", "removed", _each(_visible)),
        Change(
            "spaces", "have white space other than single spaces", "made spaces", _each(_spaced)
        ),
        Change(
            "form",
            "are not in the Unicode normal form NFC",
            "converted",
            _each(functools.partial(unicodedata.normalize, "NFC")),
        ),
    ]


def detokenizing(language: str) -> Change:
    """The change for a side that is tokenized: its words are joined by the Moses rules."""

    @tf.function(autograph=False, input_signature=[tf.TensorSpec([None], tf.string)])
    def joined(lines: tf.Tensor) -> tf.Tensor:
        return detokenize(tf.strings.split(lines), language)

    def apply(lines: Sequence[str]) -> list[str]:
        texts = joined(tf.constant([line.encode("utf-8") for line in lines], tf.string))
        return [text.decode("utf-8") for text in texts.numpy()]

    return Change("tokenized", "are tokenized", "detokenized by the Moses rules", apply)


_tokenized = re.compile(
    r"\w [.,](?: |$)| '(?:m|s|re|ve|ll|d|t)\b| n't\b"
    # kana and ideographs have no spaces between them
    r"|[\u3040-\u30ff\u4e00-\u9fff] [\u3040-\u30ff\u4e00-\u9fff]"
).search


def looks_tokenized(line: str) -> bool:
    """Whether a line has spaces where only a tokenizer writes them.

    Example:
        >>> looks_tokenized("i 'm here , sir ."), looks_tokenized("« Quoi ? » dit-il.")
        (True, False)
    """
    return bool(_tokenized(line))


def is_tokenized(share: float, settings: TextConfig) -> bool:
    """Whether a side is tokenized, against its configuration, by the share of its lines that look
    so.
    """
    return share > TOKENIZED_SHARE and settings.tokenization != "space"


def words(line: str, language: str) -> int:
    """The length of a line in words between spaces; in a language without spaces, half its
    characters.
    """
    if base(language) in UNSEGMENTED:
        return (len("".join(line.split())) + 1) // 2
    return len(line.split())


def unequal(source: int, target: int) -> bool:
    """Whether a pair has sides of very unequal lengths, in words or tokens."""
    shorter, longer = sorted((source, target))
    return longer > 3 * shorter and longer - shorter >= 6


def _each(change: Callable[[str], str]) -> Callable[[Sequence[str]], list[str]]:
    return lambda lines: [change(line) for line in lines]


# Only elements of HTML, and attributes with a value: <filename> and <class 'int'> are no markup.
_INLINE = (
    "a abbr b bdi bdo big cite code del dfn em font i img ins kbd mark q s samp small span strike"
    " strong sub sup tt u var"
)
_BLOCK = (
    "blockquote body br center dd div dl dt h[1-6] head hr html li ol p pre script style table"
    " tbody td th thead tr ul"
)
_ATTRIBUTES = r"""(?:\s+[\w:-]+\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>]+))*\s*/?"""
_inline, _block = (
    re.compile(rf"</?(?:{'|'.join(names.split())}){_ATTRIBUTES}>|<!--.{{0,200}}?-->", re.IGNORECASE)
    for names in (_INLINE, _BLOCK)
)
# [text](https://…) of Markdown, [[page|text]] and [[text]] of wikis
_markdown_link = re.compile(r"\[([^\[\]]+)\]\((?:https?://|/|#)[^()\s]*\)")
_wiki_link = re.compile(r"\[\[(?:[^\[\]|]+\|)?([^\W\d][^\[\]|,'\"]*)\]\]")


def _without_markup(line: str) -> str:
    if "<" in line and "`<" not in line:  # ``<b>`` is code, in a text about markup
        line = _block.sub(" ", _inline.sub("", line))
    if "[" in line:
        line = _wiki_link.sub(r"\1", _markdown_link.sub(r"\1", line))
    return line


# with its semicolon: a&copy=1 of an address has none
_entity = re.compile(r"&(#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


def _decoded(line: str) -> str:
    while "&" in line:  # &amp;lt; was encoded twice
        decoded = _entity.sub(_character, line)
        if decoded == line:
            break
        line = decoded
    return line


def _character(entity: re.Match[str]) -> str:
    """The character of an entity; an unknown name stays, where unescape would decode its start."""
    known = entity[1].startswith("#") or f"{entity[1]};" in html.entities.html5
    return html.unescape(entity[0]) if known else entity[0]


_invisible = re.compile(f"[{re.escape(INVISIBLE_CHARACTERS)}]")
_space = re.compile(r"\s+")
_control = re.compile(r"[\x00-\x1f\x7f]")


def invisible_character(line: str) -> str | None:
    """The first invisible character of a line."""
    found = _invisible.search(line)
    return found and found[0]


def _visible(line: str) -> str:
    return _invisible.sub("", line)


def _spaced(line: str) -> str:
    return " ".join(_control.sub("", _space.sub(" ", line)).split())
