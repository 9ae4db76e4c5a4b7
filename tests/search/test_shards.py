"""Batches in shards: a thread for each core, the answer of each item that of the item alone."""

import threading
import types

import numpy as np
import pytest

from rnnsearch_tf.config import SPECIAL_TOKENS, load_config
from rnnsearch_tf.search.beam import BeamResult
from rnnsearch_tf.search.retry import merge_rows
from rnnsearch_tf.search.unknown import Lexicon
from rnnsearch_tf.text.pipeline import Text
from rnnsearch_tf.text.vocabulary import Vocabulary
from rnnsearch_tf.translation import Translator
from rnnsearch_tf.translation.translator import in_shards


@pytest.mark.parametrize("items, size", [(0, 4), (1, 4), (3, 4), (10, 4), (9, 1)])
@pytest.mark.parametrize("shards", [1, 2, 3, 50])
def test_every_item_is_in_one_shard_of_its_batch(shards, items, size):
    found = list(in_shards(shards, sum, list(range(items)), size))
    assert sorted(item for shard, _ in found for item in shard) == list(range(items))
    for shard, result in found:
        assert result == sum(shard) and len({item // size for item in shard}) == 1
        assert set(np.diff(shard)) <= {min(shards, size, items - shard[0] // size * size)}, (
            "neighbours are of like length: each shard gets its share"
        )
    assert len(found) == sum(
        min(shards, len(range(items)[start : start + size])) for start in range(0, items, size)
    )


def test_shards_run_at_the_same_time():
    """Each waits for the other: one after the other they would never end."""
    meeting = threading.Barrier(2, timeout=20)
    assert len(list(in_shards(2, lambda shard: meeting.wait(), list(range(6)), 6))) == 2


def test_an_error_of_a_shard_is_the_error_of_the_whole():
    with pytest.raises(ZeroDivisionError):
        in_shards(2, lambda shard: 1 // int(0 not in shard), list(range(6)), 6)


def test_what_two_threads_ask_for_is_made_once(monkeypatch):
    """A lexicon, asked for by translations that have nothing to translate."""
    config = load_config(overrides=["source.tokenization=space", "target.tokenization=space"])
    text = Text(config.source, Vocabulary([*SPECIAL_TOKENS, "word"]))
    translator = Translator(types.SimpleNamespace(has_attention=True), text, text, config)
    made = []
    meeting = threading.Barrier(2, timeout=20)

    def load(path, *forms):
        made.append(path)
        threading.Event().wait(0.2)
        return Lexicon({})

    monkeypatch.setattr(Lexicon, "load", load)

    def ask():
        meeting.wait()
        assert [
            found.text
            for found in translator.translate([""], replace_unknown=True, lexicon="lexicon")
        ] == [""]

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == ["lexicon"]


ROWS = [[4, 2, 7], [3], [], [5, 6], [9, 8, 1, 2], [2, 2]]


def lines(rows):
    """Results for rows of ROWS, as a graph gives them: padded to the longest of those rows."""
    width = max(len(ROWS[row]) for row in rows)
    ids = np.array([ROWS[row] + [0] * (width - len(ROWS[row])) for row in rows], np.int32)
    scores = np.array(rows) / 4
    return BeamResult(ids, scores, scores, scores, scores, scores)


def test_later_pieces_replace_rows_and_leave_nothing_of_them():
    found = merge_rows(
        [(np.arange(len(ROWS)), lines(range(len(ROWS)))), (np.array([4, 0]), lines([1, 3]))]
    )
    expected = [[5, 6, 0, 0], [3, 0, 0, 0], [0] * 4, [5, 6, 0, 0], [3, 0, 0, 0], [2, 2, 0, 0]]
    np.testing.assert_array_equal(found.ids, expected)
    np.testing.assert_array_equal(found.scores, [3 / 4, 1 / 4, 2 / 4, 3 / 4, 1 / 4, 5 / 4])
