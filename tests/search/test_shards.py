"""A batch in shards: each by a thread of its own, the answer that of the whole."""

import threading
import typing

import numpy as np
import pytest

from rnnsearch_tf.parallel import map_shards, merge_rows


class Found(typing.NamedTuple):
    ids: np.ndarray
    scores: np.ndarray


ROWS = [[4, 2, 7], [3], [], [5, 6], [9, 8, 1, 2], [2, 2]]


def lines(rows):
    """Results for rows of ROWS, as a graph gives them: padded to the longest of those rows."""
    width = max(len(ROWS[row]) for row in rows)
    return Found(np.array([ROWS[row] + [0] * (width - len(ROWS[row])) for row in rows], np.int32), np.array(rows) / 4)


@pytest.mark.parametrize("shards", [1, 2, 3, 6, 50])
def test_shards_are_the_whole(shards):
    whole, found = lines(range(len(ROWS))), map_shards(lines, len(ROWS), shards)
    for expected, array in zip(whole, found):
        np.testing.assert_array_equal(array, expected)
        assert array.dtype == expected.dtype


def test_shards_run_at_the_same_time():
    """Each waits for the other: one after the other they would never end."""
    meeting = threading.Barrier(2, timeout=20)

    def compute(rows):
        meeting.wait()
        return lines(rows)

    assert map_shards(compute, len(ROWS), 2).scores.shape == (len(ROWS),)


def test_an_error_of_a_shard_is_the_error_of_the_whole():
    with pytest.raises(ZeroDivisionError):
        map_shards(lambda rows: 1 // int(0 not in rows), len(ROWS), 2)


def test_later_pieces_replace_rows_and_leave_nothing_of_them():
    found = merge_rows([(np.arange(len(ROWS)), lines(range(len(ROWS)))), (np.array([4, 0]), lines([1, 3]))])
    expected = [[5, 6, 0, 0], [3, 0, 0, 0], [0] * 4, [5, 6, 0, 0], [3, 0, 0, 0], [2, 2, 0, 0]]
    np.testing.assert_array_equal(found.ids, expected)
    np.testing.assert_array_equal(found.scores, [3 / 4, 1 / 4, 2 / 4, 3 / 4, 1 / 4, 5 / 4])
