"""A prepared corpus: the pairs and the ids of its text, every pair once an epoch, an order that is
a function of the batch's number.
"""

import collections
import gzip
import itertools
import json
import pathlib

import numpy as np
import pytest
import tensorflow as tf
from process_memory import anonymous_memory

from rnnsearch_tf.config import PAD_ID, load_config
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.data.dataset import EncodedPairs, training_dataset
from rnnsearch_tf.data.prepared.batches import NumberedBatches
from rnnsearch_tf.data.prepared.store import PreparedPairs
from rnnsearch_tf.data.prepared.writing import prepare
from rnnsearch_tf.errors import UsageError

SPACE = {"tokenization": "space"}
COUNT = 301


def sentences(count, seed, first=0):
    """Lines of both sides; every one begins with a word that no other has."""
    generator = np.random.default_rng(seed)
    return [
        [" ".join([f"w{first + k}", *["x"] * int(generator.integers(0, 9))]) for k in range(count)]
        for _ in ("source", "target")
    ]


def configuration(folder, tokens=SPACE, **data):
    return load_config(
        values={"source": tokens, "target": tokens, "data": {"folder": str(folder), **data}}
    )


def write_lines(path, lines):
    pathlib.Path(path).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two corpora of text, "a" and "b", and both prepared: DIR/one of a, DIR/two of a and b with
    weights.
    """
    folder = tmp_path_factory.mktemp("corpora")
    for name, count, first in (("a", COUNT, 0), ("b", 90, 1000)):
        for side, lines in zip(("source", "target"), sentences(count, 7, first)):
            write_lines(folder / f"{name}.{side}", lines)
    prepare(one(folder), folder / "one")
    corpora = [
        {"source": "a.source", "target": "a.target", "weight": 0.25},
        {"source": "b.source", "target": "b.target", "weight": 1.5},
    ]
    prepare(configuration(folder, corpora=corpora), folder / "two")
    return folder


def one(folder, **more):
    return configuration(folder, train_source="a.source", train_target="a.target", **more)


def stored(folder):
    """[(source ids, target ids)] of a prepared corpus, read without TensorFlow."""
    manifest = json.loads((folder / "manifest.json").read_text())
    ids = np.fromfile(folder / "ids.bin", manifest["id_type"]).tolist()
    offsets = np.fromfile(folder / "offsets.bin", "int64")
    lengths = np.fromfile(folder / "lengths.bin", manifest["length_type"]).reshape(-1, 2)
    assert len(offsets) == len(lengths) + 1 == manifest["pairs"] + 1 and offsets[-1] == len(ids)
    pairs = [ids[begin:end] for begin, end in itertools.pairwise(offsets)]
    return [(pair[: n[0]], pair[n[0] :]) for pair, n in zip(pairs, lengths)]


def rows(batch):
    """[(source ids, target ids)] of a batch, without padding, which stands on the right alone."""
    sides = [
        [[id_ for id_ in row if id_ != PAD_ID] for row in batch[name].tolist()]
        for name in ("source_ids", "target_ids")
    ]
    for name, side in zip(("source_ids", "target_ids"), sides):
        assert batch[name].dtype == np.int32 and batch[name].shape[1] == max(1, *map(len, side))
        assert all(row[: len(ids)] == ids for row, ids in zip(batch[name].tolist(), side))
    return list(zip(*sides, strict=True))


def take(dataset, count):
    return [rows(batch) for batch in dataset.take(count).as_numpy_iterator()]


def numbered(folder, seed=3, worker=0, workers=1, **data):
    return NumberedBatches(
        PreparedPairs(folder), load_config(values={"data": data}).data, seed, worker, workers
    )


def ahead(batching, batches):
    """The option of how many batches are read ahead, which only the paper's scheme has."""
    return {"batches_read_ahead": batches} if batching == "paper" else {}


def flat(batches):
    return [pair for batch in batches for pair in batch]


def longest(pair):
    return max(map(len, pair))


# ---- what is written ----


@pytest.mark.parametrize("tokenization, limit", [("moses", 11), ("sentencepiece", 22)])
def test_pairs_and_ids_are_those_of_the_text(tmp_path, tokenization, limit):
    """Bad lines, and pairs that are too long, are left out of both forms; several corpora;
    compressed files.
    """
    lines = [
        ["The red house.", "", "It's a very, very, very long sentence indeed.", "A cat and a dog."],
        ["La maison rouge.", "x", "Long.", "Un chat."],
    ]
    for side, text in zip(("en", "fr"), lines):
        (tmp_path / f"a.{side}.gz").write_bytes(gzip.compress("\n".join(text * 30).encode("utf-8")))
        write_lines(tmp_path / f"b.{side}", [f"{side} {k % 17} !" for k in range(700)])
    corpora = [
        {"source": f"{name}.en{zipped}", "target": f"{name}.fr{zipped}"}
        for name, zipped in (("a", ".gz"), ("b", ""))
    ]
    side = {"tokenization": tokenization, "vocabulary_size": 60}
    data = {
        "folder": str(tmp_path),
        "corpora": corpora,
        "on_bad_line": "skip",
        "maximum_source_length": limit,
    }
    config = load_config(
        values={"source": side, "target": {"language": "fr", **side}, "data": data}
    )
    prepared = prepare(config, tmp_path / "prepared")
    texts = prepared.texts(config)
    pairs = open_corpus(config)
    streamed = [EncodedPairs(*texts, corpus, config.data) for corpus, _ in pairs.corpora]
    expected = [tuple(ids.tolist() for ids in pair) for corpus in streamed for pair in corpus]
    assert stored(tmp_path / "prepared") == expected and prepared.count == len(expected)
    assert len(prepared) == len(expected)
    assert prepared.sizes == [(60, 1.0), (700, 1.0)]
    assert (prepared.report.empty, prepared.report.too_long) == (30, 30)
    assert texts[0].decode(tf.constant(expected[:1][0][:1])).numpy() == [b"The red house."]


def test_ids_of_a_large_vocabulary_need_four_bytes(tmp_path):
    words = [f"w{k}" for k in range(70_000)]
    for name in ("s", "t"):
        write_lines(
            tmp_path / name, [" ".join(words[k : k + 100]) for k in range(0, len(words), 100)]
        )
    config = configuration(
        tmp_path,
        SPACE | {"vocabulary_size": 80_000},
        train_source="s",
        train_target="t",
        maximum_source_length=100,
        maximum_target_length=100,
    )
    prepared = prepare(config, tmp_path / "prepared")
    assert prepared.manifest["id_type"] == "uint32"
    found = flat(take(numbered(tmp_path / "prepared", batch_size=50).dataset(), 14))
    assert sorted(flat(sides[:1] for sides in found)) == sorted(
        flat(sides[:1] for sides in stored(tmp_path / "prepared"))
    )
    assert max(id_ for source, _ in found for id_ in source) == 70_002


# ---- what an epoch is ----


@pytest.mark.parametrize(
    "batching, shuffle_buffer, shuffle_batches, workers, size",
    [
        ("paper", 0, 0, 1, 8),
        ("unsorted", 5000, 0, 1, 8),
        ("bucketed", 5000, 0, 1, 8),
        ("paper", 5000, 7, 1, 8),
        ("unsorted", 5000, 3, 3, 24),
        ("paper", 5000, 3, 3, 30),
        ("bucketed", 5000, 0, 2, 7),
        ("unsorted", 0, 0, 3, 2),
    ],
)
def test_an_epoch_has_every_pair_once_and_every_worker_as_many_batches(
    folder, batching, shuffle_buffer, shuffle_batches, workers, size
):
    """Of 301 pairs in batches of 30 one is left, too few for three workers: two of them get a row
    without a target.
    """
    options = dict(
        batching=batching,
        batch_size=size,
        **ahead(batching, 3),
        shuffle_buffer=shuffle_buffer,
        shuffle_batches=shuffle_batches,
    )
    every = [numbered(folder / "one", worker=k, workers=workers, **options) for k in range(workers)]
    [count] = {batches.batches_per_epoch for batches in every}
    seen = [take(batches.dataset(), 2 * count) for batches in every]
    joined = take(numbered(folder / "one", **options).dataset(), 2 * count)
    pairs = stored(folder / "one")
    for epoch in range(2):
        parts = [worker[epoch * count : (epoch + 1) * count] for worker in seen]
        assert sorted(pair for part in parts for pair in flat(part) if pair[1]) == sorted(pairs)
        for number, batch in enumerate(zip(*parts)):
            together = joined[epoch * count + number]
            shares = [[pair for pair in rows if pair[1]] for rows in batch]
            assert shares == [together[k::workers] for k in range(workers)]
            assert [rows for rows, share in zip(batch, shares) if not share] == [
                [(together[0][0], [])]
            ] * max(0, workers - len(together))
    if shuffle_buffer:
        assert seen[0][:count] != seen[0][count:]


@pytest.mark.parametrize("batching", ["paper", "unsorted"])
def test_unshuffled_batches_are_those_of_the_text(folder, batching):
    config = one(folder, batching=batching, batch_size=8, **ahead(batching, 3), shuffle_buffer=0)
    texts = PreparedPairs(folder / "one").texts(config)
    text, ids = (
        list(training_dataset(*texts, pairs, config.data, 1).as_numpy_iterator())
        for pairs in (open_corpus(config), PreparedPairs(folder / "one"))
    )
    assert len(text) == len(ids) == 38
    for one_, other in zip(text, ids):
        for name in ("source_ids", "target_ids"):
            np.testing.assert_array_equal(one_[name], other[name])


def test_bucketed_batches_hold_like_lengths_in_mixed_order(folder):
    batches = take(numbered(folder / "one", batching="bucketed", batch_size=16).dataset(), 19)
    lengths = [sorted(map(longest, batch)) for batch in batches]
    shortest = [batch[0] for batch in lengths]
    assert sorted(flat(lengths)) == flat(sorted(lengths)) and shortest != sorted(shortest)


def test_shuffled_batches_are_the_same_batches(folder):
    still, moved = (
        take(
            numbered(
                folder / "one", batch_size=8, batches_read_ahead=2, shuffle_batches=n
            ).dataset(),
            38,
        )
        for n in (0, 7)
    )
    assert still != moved and sorted(still) == sorted(moved)
    assert [sorted(still[k : k + 8]) for k in range(0, 38, 8)] == [
        sorted(moved[k : k + 8]) for k in range(0, 38, 8)
    ]


def test_every_pair_comes_at_every_place_as_often(tmp_path):
    """Chi-squared of a table of 20 pairs by 20 places over 600 epochs: 361 degrees of freedom, so
    within 361 ± 5 · √722.
    """
    for name in ("s", "t"):
        write_lines(tmp_path / name, sentences(20, 1)[0])
    prepare(configuration(tmp_path, train_source="s", train_target="t"), tmp_path / "prepared")
    batches = numbered(tmp_path / "prepared", batching="unsorted", batch_size=20)
    table = np.zeros((20, 20))
    order = tf.function(
        lambda epoch: batches._pairs(tf.range(20, dtype=tf.int64), epoch), autograph=False
    )
    for epoch in range(600):
        pairs = order(tf.constant(epoch, tf.int64)).numpy()
        assert sorted(pairs) == list(range(20))
        table[np.arange(20), pairs] += 1
    assert abs(((table - 30) ** 2 / 30).sum() - 361) < 5 * np.sqrt(722)


def test_weights_are_times_an_epoch(folder):
    """301 pairs of weight 0.25 and 90 of weight 1.5: 75 of the first, others each time; the second
    once or twice, 135 in all.
    """
    batches = numbered(folder / "two", batching="unsorted", batch_size=30)
    assert batches.batches_per_epoch == 7
    pairs = [str(pair) for pair in stored(folder / "two")]
    shares = []
    for epoch in range(4):
        count = collections.Counter(map(str, flat(take(batches.dataset(7 * epoch), 7))))
        first, second = (
            {pair: count[pair] for pair in part if count[pair]}
            for part in (pairs[:COUNT], pairs[COUNT:])
        )
        assert sum(first.values()) == len(first) == 75
        assert len(second) == 90 and sum(second.values()) == 135 and set(second.values()) == {1, 2}
        shares.append((frozenset(first), frozenset(pair for pair in second if second[pair] == 2)))
    for one_, other in itertools.combinations(shares, 2):
        assert one_[0] != other[0] and one_[1] != other[1]
    still = flat(
        take(
            numbered(
                folder / "two", batching="unsorted", batch_size=30, shuffle_buffer=0
            ).dataset(),
            7,
        )
    )
    assert [pairs.index(str(pair)) >= COUNT for pair in still] == [False] * 75 + [True] * 135


# ---- going on ----


@pytest.mark.parametrize(
    "batching", ["paper", "bucketed", pytest.param("unsorted", marks=pytest.mark.slow)]
)
def test_any_batch_is_found_by_its_number(folder, batching):
    options = dict(batching=batching, batch_size=8, **ahead(batching, 4), shuffle_batches=6)
    whole = take(numbered(folder / "one", **options).dataset(), 90)
    for first in (5, 38, 80):
        assert take(numbered(folder / "one", **options).dataset(first), 90 - first) == whole[first:]
    assert whole != take(numbered(folder / "one", seed=4, **options).dataset(), 90)


def test_an_iterator_is_saved_and_restored_in_a_small_file(folder, tmp_path):
    iterators = [
        iter(numbered(folder / "one", batch_size=8, batching="bucketed").dataset())
        for _ in range(2)
    ]
    for _ in range(50):
        next(iterators[0])
    path = tf.train.Checkpoint(iterator=iterators[0]).save(str(tmp_path / "iterator"))
    tf.train.Checkpoint(iterator=iterators[1]).restore(path)
    for _ in range(30):
        one_, other = (
            rows({name: ids.numpy() for name, ids in next(iterator).items()})
            for iterator in iterators
        )
        assert one_ == other
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 50_000


def test_an_epoch_per_iteration(folder):
    """As from text: a new order each time, and it ends; Keras is told the number of batches."""
    pairs = PreparedPairs(folder / "one")
    config = one(folder, batch_size=8)
    dataset = training_dataset(*pairs.texts(config), pairs, config.data, seed=3, epoch=2)
    batches = numbered(folder / "one", batch_size=8)
    assert dataset.cardinality() == batches.batches_per_epoch == 38
    for epoch in (2, 3):
        assert [rows(batch) for batch in dataset.as_numpy_iterator()] == take(
            batches.dataset(38 * epoch), 38
        )


def test_the_graph_has_no_python_in_it(folder):
    dataset = numbered(folder / "two", batch_size=8).dataset()
    graph = tf.compat.v1.GraphDef.FromString(
        tf.raw_ops.DatasetToGraphV2(input_dataset=dataset._variant_tensor).numpy()
    )
    nodes = [
        *graph.node,
        *(node for function in graph.library.function for node in function.node_def),
    ]
    operations = {node.op for node in nodes}
    assert {"RandomIndexShuffle", "GatherV2", "MapDataset"} <= operations
    assert not [name for name in operations if "Py" in name or "Generator" in name]


def test_the_files_stay_on_the_disk(tmp_path, folder):
    """400 MB of ids that were never written: what is not a part of a batch takes no memory."""
    prepared = tmp_path / "prepared"
    prepared.mkdir()
    manifest = json.loads((folder / "one" / "manifest.json").read_text())
    pairs = 20_000
    length = 5_000
    manifest |= {
        "pairs": pairs,
        "ids": 2 * length * pairs,
        "corpora": [manifest["corpora"][0] | {"pairs": pairs}],
    }
    with open(prepared / "ids.bin", "wb") as file:
        file.truncate(4 * length * pairs)
    np.arange(0, 2 * length * pairs + 1, 2 * length).astype("<i8").tofile(prepared / "offsets.bin")
    np.full((pairs, 2), length, "<u2").tofile(prepared / "lengths.bin")
    manifest["files"] = {
        path.name: {"bytes": path.stat().st_size, "sha256": ""} for path in prepared.iterdir()
    }
    del manifest["sha256"]
    (prepared / "manifest.json").write_text(json.dumps(manifest))
    before = anonymous_memory()
    batches = numbered(prepared, batch_size=10, batching="bucketed")
    for batch in batches.dataset().take(20).as_numpy_iterator():
        assert batch["source_ids"].shape == (10, length)
    assert anonymous_memory() - before < 100e6


@pytest.mark.parametrize(
    "more",
    [dict(epoch=lambda: 0), dict(on_epoch_size=print)],
    ids=["epoch", "on_epoch_size"],
)
def test_functions_of_the_epoch_are_refused(folder, more):
    config = one(folder)
    pairs = PreparedPairs(folder / "one")
    with pytest.raises(UsageError, match="expected the number of an epoch, and no on_epoch_size"):
        training_dataset(*pairs.texts(config), pairs, config.data, seed=1, **more)
