"""Links for guided alignment: they stay with their pair, are of the right tokens, and a wrong one
is named with its line.
"""

import dataclasses
import types

import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.config import TextConfig, load_config
from rnnsearch_tf.data import batching
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.data.dataset import EncodedPairs, training_dataset
from rnnsearch_tf.data.links import LinkedPairs
from rnnsearch_tf.data.pairs import Pairs
from rnnsearch_tf.data.phrasebook import phrasebook, phrasebook_alignments, phrasebook_tokens
from rnnsearch_tf.alignment.tokens import WordLinks
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.alignment.links import word_shares
from rnnsearch_tf.text.pipeline import build_text

SIZE = 120


def config(corpus="phrasebook", tokenization="space", **data):
    side = dict(
        tokenization=tokenization,
        vocabulary_size=1000 if tokenization != "sentencepiece" else 120,
    )
    data = dict(corpus=corpus, batch_size=7, **data)
    if corpus == "phrasebook":
        data["phrasebook_size"] = SIZE
    return load_config(
        values={
            "source": side,
            "target": side,
            "data": data,
            "training": {"guided_alignment_weight": 1.0},
        }
    )


def texts(config, lines):
    return [
        build_text(getattr(config, side), part) for side, part in zip(("source", "target"), lines)
    ]


def links_of(batch):
    """{(source ids, target ids): the links as a matrix} of a batch, without padding."""
    for source, target, matrix in zip(
        *(batch[name] for name in ("source_ids", "target_ids", "links"))
    ):
        real = [np.count_nonzero(ids) for ids in (source, target)]
        assert not matrix[real[1] :].any() and not matrix[:, real[0] :].any()
        yield (*source[: real[0]],), (*target[: real[1]],), matrix[: real[1], : real[0]]


@pytest.mark.parametrize("scheme, buffer", [("paper", 50), ("bucketed", 5000)])
def test_links_stay_with_their_pair(scheme, buffer, write):
    """Files of three shards with bad lines; the expected matrices are counted from the grammar's
    own links.
    """
    tokens = phrasebook_tokens(SIZE, 1, "train")
    gold = phrasebook_alignments(SIZE, 1, "train")
    lines = [[" ".join(words) for words in side] for side in tokens]
    lines[0][17] = ""  # left out, with its links
    names = {
        "source": lines[0],
        "target": lines[1],
        "links": [" ".join(f"{j}-{i}" for j, i in links) for links in gold],
    }
    cuts = [slice(0, 40), slice(40, 41), slice(41, SIZE)]
    paths = {
        name: tuple(write(f"{name}{number}.gz", side[cut]) for number, cut in enumerate(cuts))
        for name, side in names.items()
    }
    files = dict(
        train_source=paths["source"],
        train_target=paths["target"],
        train_alignments=paths["links"],
        on_bad_line="skip",
    )
    settings = config("files", batching=scheme, shuffle_buffer=buffer, shuffle_batches=5, **files)
    source_text, target_text = texts(settings, lines)
    pairs = open_corpus(settings)
    epoch = list(
        training_dataset(source_text, target_text, pairs, settings.data, seed=3).as_numpy_iterator()
    )
    found = {
        (source, target): matrix for batch in epoch for source, target, matrix in links_of(batch)
    }
    expected = {}
    encoded = [text.encode(side).to_list() for text, side in zip((source_text, target_text), lines)]
    for number, links in enumerate(gold):
        if number != 17:
            ids = [tuple(side[number]) for side in encoded]
            expected[tuple(ids)] = rows = [[0.0] * len(ids[0]) for _ in ids[1]]
            for j, i in links:
                rows[i][j] = 1 / sum(other == i for _, other in links)
    assert found.keys() == expected.keys() and len(expected) == SIZE - 1
    for pair, matrix in found.items():
        np.testing.assert_allclose(matrix, expected[pair], rtol=0, atol=1e-7)


def test_the_built_in_corpus_has_its_own(write):
    settings = config(tokenization="moses")
    lines = phrasebook(SIZE, 1, "train")
    batches = training_dataset(
        *texts(settings, lines), open_corpus(settings), settings.data, 1
    ).as_numpy_iterator()
    count = sum(int((batch["links"] > 0).sum()) for batch in batches)
    assert count == sum(map(len, phrasebook_alignments(SIZE, 1, "train")))
    assert not open_corpus(settings, "development").linked
    assert not open_corpus(dataclasses.replace(settings, training=load_config().training)).linked


def test_a_piece_has_the_links_of_its_word():
    """Against word_shares of evaluation, which tells a piece's word by its characters."""
    settings = config(tokenization="sentencepiece", batching="unsorted", shuffle_buffer=SIZE)
    lines = phrasebook(40, 1, "train")
    words = [[line.split() for line in side] for side in lines]
    links = [
        [(j, (j * 7 + 1) % len(target)) for j in range(len(source))]
        for source, target in zip(*words)
    ]
    pairs = LinkedPairs(Pairs(*lines), [" ".join(f"{j}-{i}" for j, i in one) for one in links])
    sides = texts(settings, lines)
    dataset = training_dataset(*sides, pairs, settings.data, seed=1)
    met = []
    by_text = {
        tuple("".join(f"▁{word}" for word in line.split()) for line in pair): one
        for *pair, one in zip(*lines, links)
    }
    for _ in range(2):
        for batch in dataset.as_numpy_iterator():
            for *ids, matrix in links_of(batch):
                text = tuple(
                    "".join(side.vocabulary.tokens[k] for k in each[:-1])
                    for side, each in zip(sides, ids)
                )
                source, target = (
                    word_shares([side.vocabulary.tokens[k] for k in each[:-1]])
                    for side, each in zip(sides, ids)
                )
                linked = np.zeros((target.shape[1], source.shape[1]))
                for j, i in by_text[text]:
                    linked[i, j] = 1
                expected = target @ linked @ source.T > 0
                np.testing.assert_allclose(
                    matrix[:-1, :-1],
                    expected / np.maximum(expected.sum(axis=1, keepdims=True), 1),
                    atol=1e-7,
                )
                assert not matrix[-1].any() and not matrix[:, -1].any()
                met.append((text, *ids))
    assert len(met) == 80 and len(set(met)) == 40


def test_a_share_of_a_batch_has_its_links():
    matrix = np.arange(3 * 4 * 5, dtype=np.float32).reshape(3, 4, 5)

    def ids(rows):
        return tf.constant(rows, tf.int32)

    batch = {
        "source_ids": ids([[5, 1, 0, 0, 0], [5, 6, 7, 8, 1], [5, 6, 1, 0, 0]]),
        "target_ids": ids([[9, 9, 9, 1], [1, 0, 0, 0], [9, 1, 0, 0]]),
    }
    batch["links"] = tf.constant(matrix)
    shares = [batching.share(batch, number, 2) for number in range(2)]
    np.testing.assert_array_equal(shares[0]["links"], matrix[[0, 2], :, :3])
    np.testing.assert_array_equal(shares[1]["links"], matrix[[1], :1])


@pytest.mark.parametrize(
    "tokenization, line, message",
    [
        (
            "space",
            "0-0 1:1",
            r"links:2: expected links `1-2` of words, separated by spaces, got '1:1'",
        ),
        ("sentencepiece", "0-0 1p1", r"links:2: expected links `1-2` .* got '1p1'"),
        (
            "space",
            "0-0 2-1",
            r"links:2: expected links of the 2 source words, from 0, got one of word 2",
        ),
        (
            "sentencepiece",
            "0-0 1-3",
            r"links:2: expected links of the 3 target words, from 0, got one of word 3",
        ),
    ],
)
def test_a_wrong_link_is_named_before_training(write, line, message, tokenization):
    lines = ["ab cd", "ab cd", "ef"], ["u v w", "u v w", "u"]
    settings = config("phrasebook", tokenization)
    settings = dataclasses.replace(
        settings,
        **{
            side: dataclasses.replace(getattr(settings, side), vocabulary_size=20)
            for side in ("source", "target")
        },
    )
    pairs = LinkedPairs(Pairs(*lines), write("links", ["0-0", line, ""]))
    with pytest.raises(UserError, match=message):
        training_dataset(*texts(settings, lines), pairs, settings.data, seed=1)


@pytest.mark.parametrize(
    "count, message", [(2, "got only 2 lines"), (4, r"links:4: .* which has 3, got more")]
)
def test_as_many_lines_of_links_as_of_text(write, count, message):
    lines = ["a"] * 3
    pairs = LinkedPairs(Pairs(lines, lines), write("links", ["0-0"] * count))
    with pytest.raises(UserError, match=message):
        pairs.check()


def test_held_out_pairs_take_their_links_along(write):
    lines = [f"{number} x" for number in range(60)]
    paths = [
        write(name, side)
        for name, side in (
            ("s", lines),
            ("t", lines),
            ("links", [f"0-{number % 2}" for number in range(60)]),
        )
    ]
    settings = config(
        "files",
        train_source=paths[0],
        train_target=paths[1],
        train_alignments=paths[2],
        held_out=20,
    )
    side = texts(settings, [lines, lines])
    found = list(EncodedPairs(*side, open_corpus(settings), settings.data))
    assert 20 < len(found) < 60
    for source, _, links in found:
        number = int(side[0].vocabulary.tokens[source[0]])
        assert links.tolist() == [[0, number % 2]]


@pytest.mark.parametrize(
    "overrides, message",
    [
        (
            ["data.train_alignments=f"],
            (
                r"data.train_alignments: has no effect with training.guided_alignment_weight=0.0;"
                r" set training"
            ),
        ),
        (
            ["training.guided_alignment_weight=1"],
            r"expected data.train_alignments, .* got none",
        ),
        (
            [
                "training.guided_alignment_weight=1",
                "model.system=stacked",
                "data.corpus=phrasebook",
            ],
            (
                r"guided_alignment_weight: has no effect with model.system=stacked; set"
                r" model.system to rnnsearch, luong or gnmt"
            ),
        ),
        (
            [
                "training.guided_alignment_weight=1",
                "data.corpus=phrasebook",
                "data.train_alignments=f",
            ],
            r"data.train_alignments: has no effect with data.corpus=phrasebook",
        ),
        (
            ["training.guided_alignment_weight=1", "data.prepared=d"],
            r"needs one training text in files, with its links, got data.prepared",
        ),
        (
            ["training.guided_alignment_weight=1", "data.corpora=[{source: a, target: b}]"],
            r"one training text .* got data.corpora",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(overrides, message):
    with pytest.raises(UsageError, match=message):
        load_config(overrides=overrides)


def test_files_of_links_as_many_as_of_text(write):
    sides = tuple(write(name, ["a"]) for name in ("a1", "a2"))
    files = dict(train_source=sides, train_target=sides)
    with pytest.raises(
        UsageError, match=r"expected a file for each of data.train_source, which has 2, got 1"
    ):
        open_corpus(config("files", train_alignments=sides[0], **files))
    with pytest.raises(
        UserError, match=r"data.train_alignments: nowhere: expected a file of links, found none"
    ):
        open_corpus(config("files", train_alignments=("nowhere", sides[0]), **files))


def test_one_of_several_files_may_be_empty(write):
    """Its pairs are counted in a process of its own, where there is nothing else."""
    sides = (write("one", ["a"]), write("none", []))
    links = (write("links", ["0-0"]), write("no-links", []))
    pairs = open_corpus(
        config("files", train_source=sides, train_target=sides, train_alignments=links)
    )
    assert [shard.check().kept for shard in pairs.shards] == [1, 0]


def test_a_token_that_is_a_word_keeps_its_links():
    texts = [build_text(config().source, ["a b"])] * 2
    links = np.array([[0, 1], [1, 1]], np.int32)
    assert WordLinks(texts).token_links(links, None) is links


def test_a_piece_of_several_words_has_no_links():
    """SentencePiece trained with split_by_whitespace=false: ▁of▁the is two words."""
    side = types.SimpleNamespace(
        config=TextConfig(tokenization="sentencepiece"),
        vocabulary=types.SimpleNamespace(tokens=["<unk>", "▁", "▁cat", "s", "▁of▁the"]),
    )
    with pytest.raises(
        UserError, match="expected SentencePiece pieces within words, got '▁of▁the'"
    ):
        WordLinks((side, side))


def test_links_may_be_a_column_too(tmp_path):
    path = tmp_path / "linked.tsv"
    path.write_text("a cat\tun chat\t0-0 1-1\nno\tnon\t0-0\n")
    sides = {"train_source": f"{path}#1", "train_target": f"{path}#2"}
    pairs = open_corpus(config("files", train_alignments=f"{path}#3", **sides))
    assert [pair.links[1] for pair in pairs.good()] == ["0-0 1-1", "0-0"]
