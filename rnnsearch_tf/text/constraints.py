"""Read the phrases that translations must contain, from files and from marked source lines."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from xml.sax import saxutils

from rnnsearch_tf.errors import UserError

_MARK = re.compile(r'<term\s+translation\s*=\s*"([^"]*)"\s*>(.*?)</term\s*>')
_PART_OF_MARK = re.compile(r"</?term\b.{0,40}")


def with_constraints(
    batches: Iterable[list[str]], phrase_lines: Iterable[Iterable[str]], name: object
) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Yield (texts, phrases of each text) for batches of source lines.

    Args:
        batches: lists of source lines.
        phrase_lines: lists, of any length, of lines of phrases; line k belongs to source line k.
            Tabs separate phrases; empty ones are skipped.
        name: the file with the phrases, for errors.

    Raises:
        UserError: the numbers of lines of phrases and of source lines differ.
    """
    lines = itertools.chain.from_iterable(phrase_lines)
    sources = 0
    count = 0
    for texts in batches:
        found = list(itertools.islice(lines, len(texts)))
        sources = sources + len(texts)
        count = count + len(found)
        if found:
            yield (
                texts[: len(found)],
                [
                    [phrase.strip() for phrase in line.split("\t") if phrase.strip()]
                    for line in found
                ],
            )
        if count < sources:
            break
    count += sum(1 for _ in lines)
    check_lines(name, count, sources, " or more" if count < sources else "")


def check_lines(name: object, phrases: int, sources: int, more: str = "") -> None:
    """Raise UserError if the numbers of lines of phrases and of source lines differ."""
    if phrases != sources:
        raise UserError(
            f"{name}: expected a line of phrases for each of {sources}{more} source lines, got"
            f" {phrases} lines; an empty line means none"
        )


def without_marks(line: str, where: str) -> tuple[str, list[str]]:
    """Split a line with marks ``<term translation="chambre">room</term>`` into (the source line,
    its phrases).

    The line is XML text: ``&lt; &gt; &amp; &quot; &apos;`` mean < > & " '. Other tags and a single
    & are plain text.

    Args:
        line: the marked line.
        where: name of the line in errors.

    Raises:
        UserError: a mark is incomplete.

    Example:
        >>> without_marks('the <term translation="chambre">room</term> is free', "line 1")
        ('the room is free', ['chambre'])
    """
    phrases = [
        saxutils.unescape(translation, _QUOTES).replace("\t", " ").strip()
        for translation, _ in _MARK.findall(line)
    ]
    text = _MARK.sub(r"\2", line)
    wrong = _PART_OF_MARK.search(text)
    if wrong or not all(phrases):
        found = repr(wrong[0]) if wrong else "an empty translation"
        raise UserError(
            f'{where}: expected <term translation="PHRASE">WORDS</term> around words to be'
            f" translated by the phrase, got {found}; complete the mark, or write &lt; for a < in"
            " the text"
        )
    return saxutils.unescape(text, _QUOTES), phrases


_QUOTES = {"&quot;": '"', "&apos;": "'"}
