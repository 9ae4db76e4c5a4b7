"""The papers' programs: texts, scores by brute force, and items on the built-in corpus."""

import itertools
import json
import types

import numpy as np
import pytest

from papers import bahdanau2015, cho2014, common, luong2015, phrase_based, sutskever2014
from papers.common import Experiment, joined_text
from rnnsearch_tf.config import load_config


def test_every_recipe_loads_and_has_the_paper_s_training_time():
    for path in common.RECIPES.glob("*.yaml"):
        load_config(path)
    updates = {
        name: load_config(common.RECIPES / f"{name}.yaml").training.maximum_updates
        for name in (*bahdanau2015.MODELS, bahdanau2015.LONGER)
    }
    assert updates["rnnsearch-50-longer"] == 2 * updates["rnnsearch-50"] == 3600
    assert load_config(common.RECIPES / "rnnencdec-30.yaml").model.system == "rnnencdec"


def test_captions_are_joined_to_longer_lines():
    pairs = [(f"a{k}", f"x{k}") for k in range(60)]
    test = joined_text(pairs, "test", longest=1)
    assert test[:60] == pairs and test[60] == ("a0 a1", "x0 x1")
    assert [len(source.split()) for source, _ in test] == [1] * 60 + [2] * 30 + [3] * 20 + [
        4
    ] * 15 + [5] * 12
    train = joined_text(pairs, "train", longest=2)
    assert {len(source.split()) for source, _ in train} == {1, 2}
    for source, target in train:
        assert source.replace("a", "x") == target
    words = " ".join(source for source, _ in joined_text(pairs, "train", longest=50)).split()
    assert len(words) > 110  # the text is read twice


def test_fifths_have_equal_numbers_of_sentences():
    generator = np.random.default_rng(3)
    words = "le chat noir est sur la table et dort".split()
    texts, gold = (
        [" ".join(generator.choice(words, size=generator.integers(4, 12))) for _ in range(40)]
        for _ in range(2)
    )
    lengths = generator.integers(1, 30, size=40)
    fifths = sutskever2014.in_fifths(texts, gold, lengths)
    assert [each["sentences"] for each in fifths] == [8] * 5
    assert fifths[0]["lowest"] == min(lengths) and fifths[-1]["highest"] == max(lengths)


def place(word):
    """A vector of its own for each word."""
    return np.random.default_rng(list(word.encode())).normal(size=200)


def roles(sentence):
    """Who does it to whom, and what it is that is done."""
    words = sentence.rstrip(".").split()
    if "by" in words:
        active = {passive: active for active, passive in sutskever2014.VERBS}
        return words[-1], active[words[4]], words[1]
    return words[1], words[3], words[-1]


def by_meaning(sentence):
    """A state that knows roles, whatever the order."""
    who, verb, whom = roles(sentence)
    return 10 * place(who) + 100 * place(whom) + place(verb)


def by_order(sentence):
    """A state that knows the order of the nouns only."""
    words = sentence.rstrip(".").split()
    return 10 * place(words[1]) + 100 * place(words[-1]) + len(words)


def bag_of_words(sentence):
    return sum(place(word) for word in sentence.rstrip(".").split())


@pytest.mark.parametrize(
    "state, order, voice", [(by_meaning, 1, 1), (by_order, 1, 0), (bag_of_words, 0, None)]
)
def test_states_that_are_known_are_told_apart(monkeypatch, state, order, voice):
    monkeypatch.setattr(
        sutskever2014, "states", lambda work, seed, lines: np.stack([state(e) for e in lines])
    )
    found = sutskever2014.roles(None, 1)
    assert found["order"] == order and (voice is None or found["voice"] == voice)
    assert state is not bag_of_words or found["same"] == pytest.approx(found["exchanged"])


def test_the_plane_is_of_principal_components():
    vectors = np.random.default_rng(1).normal(size=(20, 6)) * [9, 5, 1, 1, 1, 1]
    points = sutskever2014.plane(vectors)
    values = np.sort(np.linalg.eigvalsh(np.cov(vectors.T)))[::-1]
    np.testing.assert_allclose(np.cov(points.T), np.diag(values[:2]), atol=1e-9)


def test_the_nearest_hypothesis_and_the_even_average():
    entries = [
        types.SimpleNamespace(sentence=0, text=text, score=score)
        for text, score in (("a dog or so", -1.0), ("dog", -2.0), ("a dog", -3.0), ("a dog", -4.0))
    ]
    assert sutskever2014.nearest(entries, "a dog") == "a dog"
    scores = {"A dog or so": -9.0, "Dog": -5.0, "A dog": -3.0}
    translator = types.SimpleNamespace(score=lambda _, texts: [scores[text] for text in texts])
    work = types.SimpleNamespace(
        lines=lambda *_: ["x"],
        output=lambda key, make: make(),
        translator=lambda *_: translator,
    )
    assert sutskever2014.rescored(work, "lstm-forward", [1], [entries]) == ["a dog"]


def test_rank_correlation_of_equal_values():
    generator = np.random.default_rng(0)
    one, other = generator.integers(0, 5, size=(2, 30))

    def ranked(values):
        return [np.mean([(o < v) + (o == v) / 2 for o in values]) for v in values]

    expected = np.corrcoef(ranked(one), ranked(other))[0, 1]
    assert cho2014.rank_correlation(one, other) == pytest.approx(expected)
    assert cho2014.rank_correlation(np.ones(3), np.arange(3)) is None


def phrases(number):
    """{phrase: translation}: several phrases of four or five words for each."""
    generator = np.random.default_rng(3)
    return {
        " ".join(generator.permutation(list("abcdefgh"))[: generator.integers(4, 6)]): (
            f"t{generator.integers(number // 3)}"
        )
        for _ in range(number)
    }


def test_paraphrases_and_what_they_are_compared_with():
    translations = phrases(300)
    triples = cho2014.paraphrases(translations, 40)
    assert len(triples) == 40 == len({translations[first] for first, _, _ in triples})
    for first, second, third in triples:
        assert first != second and translations[first] == translations[second]
        assert translations[third] != translations[first]
        assert len(second.split()) == len(third.split())
        common = [len(set(first.split()) & set(other.split())) for other in (second, third)]
        assert common[0] == common[1]


def test_regions_are_those_of_vectors_that_are_alike():
    """By brute force: the square around each point, and the mean cosine of all pairs in it."""
    generator = np.random.default_rng(2)
    points = generator.uniform(size=(60, 2))
    vectors = generator.normal(size=(60, 5))
    vectors[points[:, 0] < 0.3] += [6, 0, 0, 0, 0]
    vectors[:, 1] += np.where(points[:, 0] < 0.3, 3, 30)  # what most share says little
    units = vectors - vectors.mean(axis=0)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    squares = []
    for point in points:
        half = sorted(max(abs(point - other)) for other in points)[7]
        inside = [k for k, other in enumerate(points) if max(abs(point - other)) <= half]
        cosine = np.mean([units[j] @ units[k] for j, k in itertools.product(inside, inside)])
        squares.append((cosine, point, half))
    expected = max(squares, key=lambda square: square[0])
    found = cho2014.regions(points, vectors, number=3, members=8)
    (centre, half), *_ = found
    assert (centre == expected[1]).all() and half == pytest.approx(expected[2])
    assert len(found) == 3
    for (one, mine), (other, its) in itertools.combinations(found, 2):
        assert max(abs(one - other)) > mine + its


def test_phrases_and_features_of_an_nbest_line():
    entry = types.SimpleNamespace(
        text="le chat noir", fields=("0", "", "LM= -1.5 WP= 2 3", "-1", "0=0 1-2=1-2")
    )
    assert cho2014.phrases(entry, "the black cat") == [("the", "le"), ("black cat", "chat noir")]
    assert cho2014.features(entry) == [-1.5, 2.0, 3.0]


def test_curves_are_drawn_where_they_belong():
    curves = {
        "rnnsearch-50": ([1, 2], [[28.0, 32.0], [20.0, 20.0]]),
        "rnnencdec-50": ([1, 2], [10.0, 5.0]),
    }
    [axes] = common.curves_figure({"words": curves}).axes
    drawn = {
        curve.get_label(): (curve.lines[0].get_linestyle(), curve.lines[0].get_ydata().tolist())
        for curve in axes.containers
    }
    assert drawn == {"rnnsearch-50": ("-", [30.0, 20.0]), "rnnencdec-50": ("--", [10.0, 5.0])}
    [bars] = axes.containers[0].lines[2]
    ends = [segment[:, 1].tolist() for segment in bars.get_segments()]
    assert ends == [pytest.approx([30 - 8**0.5, 30 + 8**0.5]), [20, 20]]


TINY = ("model.embedding_size=8", "model.hidden_size=8", "model.maxout_size=8")


@pytest.mark.slow
@pytest.mark.parametrize(
    "paper, items, overrides",
    [
        (bahdanau2015, ["table2", "table1", "figure2", "figure3"], TINY),
        (sutskever2014, ["table1", "table3", "figure2"], TINY[:2]),
        (luong2015, ["scores"], TINY[:2]),
    ],
)
def test_items_on_the_built_in_corpus(tmp_path, monkeypatch, paper, items, overrides):
    """Their pages and numbers; a second time nothing is trained."""
    work = Experiment(tmp_path, seeds=[1, 2], quick=True, overrides=overrides)
    for _ in range(2):
        for item in items:
            page = paper.ITEMS[item](work)
            assert page.ours or page.pictures
            path = page.write(tmp_path, item, "test")
            assert path.read_text(encoding="utf-8").startswith(f"# {page.title}\n")
        monkeypatch.setattr("rnnsearch_tf.train", None)
    assert set(json.loads((tmp_path / "results.json").read_text())) == set(items)


@pytest.mark.slow
def test_an_item_of_phrases_on_the_built_in_corpus(tmp_path):
    pytest.importorskip("thot", reason="the extra smt is not installed")
    work = Experiment(tmp_path, quick=True, overrides=TINY[:2])
    assert cho2014.table_2(work).ours and phrase_based.is_available(work)
