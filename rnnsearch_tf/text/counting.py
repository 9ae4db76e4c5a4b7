"""Exact counts of more words than memory should hold: sorted files, added up while they are read side by side."""

from __future__ import annotations

import collections
import contextlib
import heapq
import itertools
import operator


def write_counts(file, items) -> None:
    """Write (word, count) pairs, words as bytes in rising order, one a line, to a binary file."""
    file.writelines(b"%d %s\n" % (count, word) for word, count in items)


def read_counts(file):
    """Yield what :func:`write_counts` wrote, from the file's beginning."""
    file.seek(0)
    for line in file:
        count, _, word = line.rstrip(b"\n").partition(b" ")
        yield word, int(count)


def added(streams):
    """The sums of several streams of (word, count), each in rising order of its words, as such a stream.

    Example:
        >>> list(added([[(b"a", 1), (b"c", 2)], [(b"a", 5), (b"b", 1)]]))
        [(b'a', 6), (b'b', 1), (b'c', 2)]
    """
    for word, group in itertools.groupby(heapq.merge(*streams), key=operator.itemgetter(0)):
        yield word, sum(count for _, count in group)


def most_frequent(items, number=None) -> collections.Counter:
    """The words, as str, with their counts; no more than `number`, those that come most often, and of equals the first by code points."""
    items = ((word.decode("utf-8"), count) for word, count in items)
    return collections.Counter(dict(items if number is None else heapq.nsmallest(number, items, key=lambda item: (-item[1], item[0]))))


class SavedCounts:
    """The counts of several files together, as :meth:`TokenCounts.save` wrote them.

    Args:
        paths: list of paths.
    """

    def __init__(self, paths):
        self.paths = paths

    def total(self, most=None) -> collections.Counter:
        """As :meth:`TokenCounts.total`."""
        with contextlib.ExitStack() as stack:
            files = [stack.enter_context(open(path, "rb")) for path in self.paths]
            return most_frequent(added(map(read_counts, files)), most)
