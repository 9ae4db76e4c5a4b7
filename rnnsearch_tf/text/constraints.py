"""Phrases that have to stand in translations, as files and marked source lines have them."""

from __future__ import annotations

import itertools
import re
from xml.sax import saxutils

from rnnsearch_tf.errors import UserError

_MARK = re.compile(r'<term\s+translation\s*=\s*"([^"]*)"\s*>(.*?)</term\s*>')
_PART_OF_MARK = re.compile(r"</?term\b.{0,40}")


def with_constraints(batches, phrase_lines, name):
    """Yield (texts, phrases of each) for batches of source lines.

    Args:
        batches: lists of source lines.
        phrase_lines: lists of lines of phrases, of any length; line k belongs to source line k.
            Tabs stand between phrases; empty ones are passed over.
        name: of the file that they come from.

    Raises:
        UserError: the file has fewer or more lines than there are source lines.
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


def check_lines(name, phrases, sources, more="") -> None:
    """Raise UserError where there are fewer or more lines of phrases than source lines."""
    if phrases != sources:
        raise UserError(
            f"{name}: expected a line of phrases for each of {sources}{more} source lines, got"
            f" {phrases} lines; an empty line stands for none"
        )


def without_marks(line: str, where: str) -> tuple[str, list[str]]:
    """(the source line, its phrases) of a line with marks ``<term
    translation="chambre">room</term>``.

    The line is XML text: ``&lt; &gt; &amp; &quot; &apos;`` stand for < > & " '. Other tags, and an
    & by itself, are text.

    Args:
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
            f" translated by the phrase, got {found}; complete the mark, or write &lt; for a < of"
            " the text"
        )
    return saxutils.unescape(text, _QUOTES), phrases


_QUOTES = {"&quot;": '"', "&apos;": "'"}
