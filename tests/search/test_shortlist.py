"""Search among a shortlist: what a search among all words gives when the others are forbidden."""

import dataclasses
import gzip
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from rnnsearch_tf.config import SPECIAL_TOKENS, SearchConfig
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.models.ensemble import Ensemble
from rnnsearch_tf.search.beam import beam_search
from rnnsearch_tf.search.graphs import constrained_search_graph, search_graph
from rnnsearch_tf.search.shortlist import Shortlist
from rnnsearch_tf.text.vocabulary import Vocabulary
from tiny_rnnsearch import PAIRS, SOURCE_SIZE, TARGET_SIZE, padded
from tiny_systems import READ_THE_SOURCE, THREE, others_slow, tiny_system

CONFIG = SearchConfig(beam_size=3, nbest=2, maximum_length_ratio=2.0)
SOURCES = [source for source, _ in PAIRS]
CANDIDATES = np.zeros([SOURCE_SIZE, 2], np.int32)
# never 4
CANDIDATES[3] = (5, 0)
CANDIDATES[4] = (6, 0)
CANDIDATES[6] = (3, 0)
CANDIDATES[7] = (6, 5)


def allowed(source, frequent):
    """bool [V], by plain sets."""
    words = {
        0,
        1,
        2,
        *range(3, 3 + frequent),
        *(int(word) for j in source for word in CANDIDATES[j]),
    }
    return np.isin(np.arange(TARGET_SIZE), list(words))


def searched_among_all(model, sources, frequent):
    """BeamResult of a step that computes every word and normalizes over those allowed."""
    masks = tf.constant(np.array([allowed(source, frequent) for source in sources]))

    def step(previous_ids, state, memory):
        memory, masks = memory
        return one_step(model, previous_ids, state, memory, masks)

    state, memory = model.start(padded(sources))
    return beam_search(
        state, (memory, masks), step, tf.constant([len(source) for source in sources]), CONFIG
    )


def one_step(model, previous_ids, state, memory, masks):
    if not isinstance(model, Ensemble):
        logits, alignment, state = model.step(previous_ids, state, memory)
        return tf.nn.log_softmax(tf.where(masks[:, None], logits, -1e9)), alignment, state
    steps = [
        one_step(member, previous_ids, *rest, masks)
        for member, *rest in zip(model.models, state, memory)
    ]
    log_probabilities, alignments, states = zip(*steps)
    return (
        tf.math.log(tf.add_n([tf.exp(p) for p in log_probabilities]) / len(steps)),
        sum(alignments) / len(steps),
        states,
    )


def same(found, expected):
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_allclose(
        found.log_probabilities, expected.log_probabilities, rtol=0, atol=2e-5
    )
    np.testing.assert_allclose(found.alignments, expected.alignments, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", others_slow([*READ_THE_SOURCE, "ensemble"], [*THREE, "ensemble"]))
def test_it_is_a_search_with_the_other_words_forbidden(name):
    names = ("rnnsearch", "rnnsearch-coverage") if name == "ensemble" else (name,)
    models = [tiny_system(each, "float32", seed=k) for k, each in enumerate(names)]
    model = Ensemble(models) if name == "ensemble" else models[0]
    frequent = 1
    found = search_graph(model, CONFIG, 1, Shortlist(CANDIDATES, frequent, TARGET_SIZE))(
        padded(SOURCES)
    )
    same(found, searched_among_all(model, SOURCES, frequent))
    for source, ids in zip(SOURCES, found.ids.numpy()):
        assert allowed(source, frequent)[ids].all()


def test_the_neighbours_do_not_matter():
    search = search_graph(
        tiny_system("rnnsearch", "float32"), CONFIG, 1, Shortlist(CANDIDATES, 0, TARGET_SIZE)
    )
    together = search(padded(SOURCES))
    for row, source in enumerate(SOURCES):
        alone = search(padded([source]))
        length = alone.ids.shape[2]
        np.testing.assert_array_equal(together.ids[row, :, :length], alone.ids[0])
        np.testing.assert_allclose(together.scores[row], alone.scores[0], rtol=0, atol=1e-5)


def test_fewer_words_than_hypotheses():
    """Alone, where only its own words are computed, a sentence is translated as beside another that
    brings more words.
    """
    config = dataclasses.replace(CONFIG, beam_size=12, nbest=12)
    search = search_graph(
        tiny_system("rnnsearch", "float32"), config, 1, Shortlist(CANDIDATES, 0, TARGET_SIZE)
    )
    for source in SOURCES:
        alone = search(padded([source]))
        beside = search(padded([source, [3, 4, 6, 7, 1]]))
        length = alone.ids.shape[2]
        np.testing.assert_array_equal(alone.ids[0], beside.ids[0, :, :length])
        np.testing.assert_allclose(alone.scores[0], beside.scores[0], rtol=0, atol=1e-5)
        assert allowed(source, 0)[alone.ids[0].numpy()].all()


@pytest.mark.slow
@pytest.mark.parametrize("frequent", (TARGET_SIZE, 1_000))
def test_a_shortlist_of_everything_changes_nothing(frequent):
    model = tiny_system("rnnsearch", "float32")
    same(
        search_graph(model, CONFIG, 1, Shortlist(CANDIDATES, frequent, TARGET_SIZE))(
            padded(SOURCES)
        ),
        search_graph(model, CONFIG)(padded(SOURCES)),
    )


@pytest.mark.parametrize("name", ("rnnsearch", "luong-tied"))
def test_columns_are_gathered_once(name):
    """Outside the loops: in them a shortlist gathers only the last words' ids, and the rows of its
    biases when sentences leave.
    """
    model = tiny_system(name, "mixed_bfloat16")
    counts = []
    for shortlist in (None, Shortlist(CANDIDATES, 0, TARGET_SIZE)):
        library = (
            search_graph(model, CONFIG, 1, shortlist)
            .get_concrete_function()
            .graph.as_graph_def()
            .library
        )
        bodies = [
            function for function in library.function if "while_body" in function.signature.name
        ]
        counts.append(sum(node.op == "GatherV2" for body in bodies for node in body.node_def))
    assert counts[1] - counts[0] == 2


@pytest.mark.parametrize("name", ["rnnsearch", pytest.param("ensemble", marks=pytest.mark.slow)])
def test_phrases_may_be_used_too(name):
    """Words that the shortlist leaves out (4), and words that the vocabulary lacks; with a
    shortlist of everything nothing changes.
    """
    models = [
        tiny_system(each, "float32", seed=k)
        for k, each in enumerate(("rnnsearch", "rnnsearch-coverage"))
    ]
    model = Ensemble(models) if name == "ensemble" else models[0]
    words = SimpleNamespace(
        config=SimpleNamespace(tokenization="moses"), vocabulary=SimpleNamespace(size=TARGET_SIZE)
    )
    phrases = tf.constant([[[4, 0]], [[TARGET_SIZE + 1, 4]], [[0, 0]], [[3, 0]]])

    def search(shortlist):
        graph = constrained_search_graph(model, CONFIG, 1, shortlist, 1, words)
        return graph(padded(SOURCES), phrases)

    found = search(Shortlist(CANDIDATES, 0, TARGET_SIZE))
    for row, (source, wanted) in enumerate(zip(SOURCES, phrases.numpy())):
        wanted = wanted[wanted > 0].tolist()
        for ids in found.ids.numpy()[row]:
            ids = ids.tolist()
            assert any(ids[k : k + len(wanted)] == wanted for k in range(len(ids))), (ids, wanted)
            assert allowed(source, 0)[[word for word in ids if word not in wanted]].all()
    same(search(Shortlist(CANDIDATES, TARGET_SIZE, TARGET_SIZE)), search(None))


def test_no_sentence_has_no_answer():
    search = search_graph(
        tiny_system("rnnsearch", "float32"), CONFIG, 1, Shortlist(CANDIDATES, 0, TARGET_SIZE)
    )
    assert search(tf.zeros([0, 1], tf.int32)).ids.shape[:2] == (0, 2)


SOURCE = Vocabulary([*SPECIAL_TOKENS, "cat", "dog"])
TARGET = Vocabulary([*SPECIAL_TOKENS, "le", "chat", "chien", "animal"])


@pytest.mark.parametrize("name", ["shortlist", "shortlist.gz"])
def test_a_file(tmp_path, name):
    """The likeliest of every word, in whatever order they stand; words of neither vocabulary are
    passed over.
    """
    lines = [
        "cat animal 0.1",
        "cat chat 0.9",
        "dog chien 0.8",
        "cat le 0.05",
        "</s> le 0.5",
        "Zoe chat 1",
        "dog Zoé 0.9",
        "<pad> chat 1",
    ]
    data = "".join(f"{line}\n" for line in lines).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    shortlist = Shortlist.load(path, 0, 2, SOURCE, TARGET)
    words, biases = shortlist(padded([[3, 1], [4, 1, 1], [2]]))
    assert words.numpy().tolist() == [0, 1, 2, 3, 4, 5, 6]
    expected = [[1, 1, 1, 1, 1, 0, 1], [1, 1, 1, 1, 0, 1, 0], [1, 1, 1, 0, 0, 0, 0]]
    np.testing.assert_array_equal(biases.numpy() == 0, np.array(expected, bool))
    assert (biases.numpy()[~np.array(expected, bool)] < -1e8).all()


def test_of_equal_probabilities_the_more_frequent_words_are_kept(tmp_path):
    """They come first in the vocabulary; the order of the lines says nothing."""
    lines = [f"cat {word} 0.5\n" for word in ("animal", "le", "chien", "chat")]
    for ordered in (lines, lines[::-1]):
        (tmp_path / "shortlist").write_text("".join(ordered))
        words, _ = Shortlist.load(tmp_path / "shortlist", 0, 2, SOURCE, TARGET)(padded([[3, 1]]))
        assert words.numpy().tolist() == [
            0,
            1,
            2,
            TARGET.tokens.index("le"),
            TARGET.tokens.index("chat"),
        ]


@pytest.mark.parametrize(
    "line",
    [
        "cat chat",
        "cat chat much",
        "cat chat 1.5",
        "cat chat nan",
        "cat  0.5",
        "cat\tchat\t0.5",
        "a b c 0.5",
        "",
    ],
)
def test_a_bad_line_is_named(tmp_path, line):
    path = tmp_path / "shortlist"
    path.write_text(f"cat chat 0.5\n{line}\n")
    with pytest.raises(
        UserError, match=r"shortlist:2: expected `source-word target-word probability`, got"
    ):
        Shortlist.load(path, 0, 2, SOURCE, TARGET)


def test_a_file_in_another_normal_form_has_the_same_words(tmp_path):
    source, target = (Vocabulary([*SPECIAL_TOKENS, word]) for word in ("été", "sümmer"))
    path = tmp_path / "shortlist"
    path.write_text("e\u0301te\u0301 su\u0308mmer 0.5\n", encoding="utf-8")
    assert Shortlist.load(path, 0, 1, source, target)(padded([[3, 1]]))[0].numpy().tolist() == [
        0,
        1,
        2,
        3,
    ]
    assert Shortlist.load(path, 0, 1, source, target, "none")(padded([[3, 1]]))[
        0
    ].numpy().tolist() == [0, 1, 2]


def test_a_translation_takes_one_place(tmp_path):
    """Also in several lines: words that the Unicode form makes equal, or repeated lines."""
    path = tmp_path / "shortlist"
    path.write_text("cat chat 0.2\ncat le 0.4\ncat chat 0.5\ncat animal 0.3\ncat chien 0\n")
    found = Shortlist.load(path, 0, 4, SOURCE, TARGET)
    names = ("chat", "le", "animal", "chien")  # by the largest probability of each
    expected = [TARGET.tokens.index(name) for name in names]
    assert found._candidates[SOURCE.tokens.index("cat")].numpy().tolist() == expected
