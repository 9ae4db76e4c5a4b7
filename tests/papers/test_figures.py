"""The papers' figures: what is measured against brute force and known states, and the pages of
models with random weights.
"""

import gzip
import itertools
import json
import random
import sys
import types

import numpy as np
import pytest
import sacrebleu
from test_reproduce import is_made_again_of_measurements_alone
from tiny_run import write_run

from papers.__main__ import main as reproduce
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.extras.plots.alignment import png
from rnnsearch_tf.extras.plots.zooms import regions, zoomed_figures
from papers import bahdanau2015
from papers import cho2014_figures
from papers import monotone
from papers import phrase_based
from papers import sutskever2014_figures
from papers.workspace import Workspace

pytest.importorskip("sklearn")


def numbers(folder, item):
    return json.loads((folder / f"{item}.json").read_text(encoding="utf-8"))["ours"]


def picture(folder, name):
    return (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def roles(sentence):
    """Who does it to whom, and what it is that is done."""
    words = sentence.rstrip(".").split()
    first = words[1]
    last = words[-1]
    verb = (
        {passive: active for active, passive in sutskever2014_figures.VERBS}.get(words[4])
        if "by" in words
        else words[3]
    )
    return (last, verb, first) if "by" in words else (first, verb, last)


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


def place(word):
    """A vector of its own for each word."""
    return np.random.default_rng(list(word.encode())).normal(size=200)


@pytest.mark.parametrize(
    "state, order, voice", [(by_meaning, 1, 1), (by_order, 1, 0), (bag_of_words, 0, None)]
)
def test_states_that_are_known_are_told_apart(tmp_path, monkeypatch, state, order, voice):
    monkeypatch.setattr(
        sutskever2014_figures,
        "_states",
        lambda work, name, seed, sentences: np.stack([state(each) for each in sentences]),
    )
    [found] = sutskever2014_figures.measured_states(Workspace(tmp_path, None), "lstm-reversed")
    assert found["order"] == order and (voice is None or found["voice"] == voice)
    assert state is not bag_of_words or found["same"] == pytest.approx(found["exchanged"])


def test_every_kind_of_sentence_is_in_the_pictures():
    """One meaning, one colour: what the two groups of a picture say is not the same, what one group
    says is.
    """
    for group, other in (sutskever2014_figures.WORD_ORDER, sutskever2014_figures.VOICE):
        assert len(group) == len(other) == 3
    active, _, passive = (
        sentence.replace(" in the park", "") for sentence in sutskever2014_figures.VOICE[0]
    )
    assert (
        roles(active)
        == roles(passive)
        != roles(sutskever2014_figures.VOICE[1][0].replace(" in the park", ""))
    )


def test_steps_and_swaps_by_brute_force():
    generator = np.random.default_rng(5)
    for _ in range(20):
        target, source = generator.integers(1, 9, size=2)
        alignment = generator.dirichlet(np.ones(source + 1), size=target + 1)
        places = monotone.attended(alignment)
        assert places == [max(range(source), key=lambda j: alignment[i, j]) for i in range(target)]
        words = [f"s{j}" for j in range(source)], [f"t{i}" for i in range(target)]
        expected = [
            f"s{j} s{j + 1} → t{i} t{i + 1}"
            for i in range(target - 1)
            for j in range(source - 1)
            if (places[i], places[i + 1]) == (j + 1, j)
        ]
        assert monotone.swapped(places, *words) == expected
    assert monotone.attended(np.ones((1, 3))) == []


def test_curves_are_drawn_where_they_belong():
    curves = {
        "rnnsearch-50": ([1, 2], [[28.0, 32.0], [20.0, 20.0]]),
        "rnnencdec-50": ([1, 2], [10.0, 5.0]),
    }
    panels = {"words": curves, "rank": {"lstm-forward": ([3], [4.0])}}
    left, right = bahdanau2015.curves_figure(panels).axes
    assert [axes.get_xlabel() for axes in (left, right)] == ["words", "rank"]
    drawn = {
        curve.get_label(): (
            curve.lines[0].get_linestyle(),
            curve.lines[0].get_xdata().tolist(),
            curve.lines[0].get_ydata().tolist(),
        )
        for curve in left.containers
    }
    assert drawn == {
        "RNNsearch-50": ("-", [1, 2], [30.0, 20.0]),
        "RNNencdec-50": ("--", [1, 2], [10.0, 5.0]),
    }
    [bars] = left.containers[0].lines[2]
    ends = [segment[:, 1].tolist() for segment in bars.get_segments()]
    assert ends == [pytest.approx([30 - 8**0.5, 30 + 8**0.5]), [20, 20]]
    assert not left.containers[1].lines[2] and right.containers[0].get_label() == "LSTM forward"


CAPTIONS = [
    "The door is white.",
    "My sister sells an old book.",
    "She goes to the hotel.",
    "Where is the cat?",
    "The cat is very white and old.",
    "He reads a book.",
]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """Random models, and translations of a test text that were made before."""
    folder = tmp_path_factory.mktemp("figures")
    work = Workspace(folder, None)
    write_run(work.run("rnnsearch-50", 1234).path)
    # of the LSTMs only translations are asked for
    for name in (
        "rnnsearch-50",
        "lstm-forward",
        "lstm-reversed",
    ):
        card = work.run(name, 1234).model_card
        card.parent.mkdir(exist_ok=True)
        card.write_text("random weights\n")
    texts = work.folder / "texts" / "up-to-50"
    texts.mkdir(parents=True)
    for language in ("en", "fr"):
        (texts / f"test.{language}").write_text(
            "".join(f"{line}\n" for line in CAPTIONS), encoding="utf-8"
        )
    for forbidden in ("", "-no-unk"):
        work.output(
            f"translations{forbidden}-rnnsearch-50-1234",
            lambda: {"tokens": ["le chat est blanc ."] * len(CAPTIONS)},
        )
    for name in ("lstm-forward", "lstm-reversed"):
        texts = (
            [caption.lower() for caption in CAPTIONS] if name == "lstm-reversed" else CAPTIONS[::-1]
        )
        translated = {"12": {"texts": texts}}
        work.output(f"captions-1-{name}-1234", lambda translated=translated: translated)
    return work


def make(work, item, monkeypatch, models=None):
    """The page of an item as the verb makes it."""
    from papers import items

    old = items.ITEMS[item]
    monkeypatch.setitem(items.ITEMS, item, items.Item(old.shows, models or old.models, old.make))
    assert reproduce([item, "--data", str(work.folder), "--output", str(work.folder)]) == 0
    is_made_again_of_measurements_alone([item, "--output", str(work.folder)])
    return numbers(work.folder, item)


def test_the_page_of_steps(workspace, monkeypatch):
    """Random alignments, counted one by one."""
    generator = np.random.default_rng(7)
    alignments = []

    def translate(sources, beam_size, allow_unknown):
        assert (beam_size, allow_unknown) == (12, False)
        alignments.extend(generator.dirichlet(np.ones(7), size=5) for _ in sources)
        words = [f"s{j}" for j in range(6)], [f"t{i}" for i in range(4)]
        return [
            types.SimpleNamespace(source_tokens=words[0], tokens=words[1], alignment=alignment)
            for alignment in alignments
        ]

    monkeypatch.setattr(
        Workspace, "translator", lambda work, name, seed: types.SimpleNamespace(translate=translate)
    )
    [row] = make(workspace, "bahdanau2015-monotone", monkeypatch)
    heads = [[max(range(6), key=lambda j: each[i, j]) for i in range(4)] for each in alignments]
    steps = [each[i + 1] - each[i] for each in heads for i in range(3)]
    expected = [
        np.mean([at(step) for step in steps])
        for at in (
            lambda s: s == 0,
            lambda s: s == 1,
            lambda s: s >= 2,
            lambda s: s == -1,
            lambda s: s <= -2,
        )
    ]
    assert [
        row[kind]
        for kind in ("same word", "next word", "further ahead", "one word back", "further back")
    ] == pytest.approx(expected)
    swaps = sum(step == -1 for step in steps)
    page = (workspace.folder / "bahdanau2015-monotone.md").read_text(encoding="utf-8")
    assert f"With the first seed, rnnsearch-50 has {swaps}; " in page


def test_the_page_of_lengths_and_ranks(workspace, monkeypatch):
    """A translation that is the reference has 100; any other has what sacreBLEU says."""
    monkeypatch.setattr("papers.corpora.read_multi30k", lambda data, part: (CAPTIONS, CAPTIONS))
    rows = make(workspace, "sutskever2014-figure3", monkeypatch)
    assert {row["model"] for row in rows} == {"lstm-forward", "lstm-reversed", "rnnsearch-50"}
    assert all(row["BLEU"] == pytest.approx(100) for row in rows if row["model"] == "lstm-reversed")
    short = [
        row for row in rows if (row["model"], row["sentences of"]) == ("lstm-forward", "length 5–5")
    ][0]
    chosen = sorted(range(len(CAPTIONS)), key=lambda k: len(CAPTIONS[k].rstrip(".?").split()))[:2]
    hypotheses = [CAPTIONS[::-1][k] for k in chosen]
    references = [CAPTIONS[k] for k in chosen]
    assert short["sentences"] == len(chosen)
    assert short["BLEU"] == pytest.approx(
        sacrebleu.corpus_bleu(hypotheses, [references], lowercase=True).score
    )
    assert {row["sentences of"].split()[0] for row in rows} == {"length", "rank"}
    assert picture(workspace.folder, "sutskever2014-figure3-curves")


def test_the_page_of_sentence_states(workspace, monkeypatch):
    [row] = make(workspace, "sutskever2014-figure2", monkeypatch, ("rnnsearch-50",))
    assert (
        0 <= row["word order"] <= 1 and 0 <= row["voice"] <= 1 and row["distance, same roles"] > 0
    )
    assert all(
        picture(workspace.folder, f"sutskever2014-figure2-{name}")
        for name in ("word-order", "voice")
    )


def test_a_missing_package_is_named_before_anything_is_trained(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    assert reproduce(["luong2015-attention", "--output", str(tmp_path)]) == 1
    assert "rnnsearch-tf[plots]" in capsys.readouterr().err and not (tmp_path / "models").exists()


TABLE = """\
l&apos; homme ||| the man ||| 0.5 1 0.75 1 ||| 0-0 1-1 ||| 6 4 3
a black dog runs ||| un chien noir court ||| 1 1 0.2 1 ||| 0-0 ||| 1 5 1
a black dog runs ||| un chien court ||| 1 1 0.4 1 ||| 0-0 ||| 2 5 2
a black dog runs ||| chien noir court ||| 1 1 0.4 1 ||| 0-0 ||| 2 5 2
"""


def test_the_rows_of_a_table(tmp_path):
    (tmp_path / phrase_based.TABLE).write_bytes(gzip.compress(TABLE.encode()))
    first, *long = phrase_based.rows(tmp_path)
    assert first == ("l' homme", "the man", 0.75, 4)
    assert [row.probability for row in long] == [0.2, 0.4, 0.4]
    assert cho2014_figures.best_translations([first, *long]) == {
        "a black dog runs": "chien noir court"
    }


def phrases(number):
    """{phrase: translation}: several phrases of four or five words for each."""
    generator = random.Random(3)
    return {
        " ".join(
            generator.sample("abcdefgh", generator.choice((4, 5)))
        ): f"t{generator.randrange(number // 3)}"
        for _ in range(number)
    }


def test_paraphrases_and_what_they_are_compared_with():
    translations = phrases(300)
    triples = cho2014_figures.paraphrases(translations, 40)
    assert len(triples) == 40 == len({translations[first] for first, _, _ in triples})

    def words(phrase):
        return set(phrase.split())

    for first, second, third in triples:
        assert (
            first != second and translations[first] == translations[second] != translations[third]
        )
        assert len(second.split()) == len(third.split()) and len(
            words(first) & words(second)
        ) == len(words(first) & words(third))


@pytest.mark.parametrize("meaning, near", [(1, 1), (0, 0)])
def test_states_of_meaning_and_of_words(tmp_path, monkeypatch, meaning, near):
    """States that know the translation, and such that know the words only: their cosine is the same
    for both phrases of a comparison.
    """
    translations = {
        phrase: translation
        for phrase, translation in phrases(300).items()
        if len(phrase.split()) == 4
    }

    def states(model, text, lines):
        return np.stack(
            [
                (
                    np.isin(list("abcdefgh"), line.split()) * 1.0
                    if not meaning
                    else place(translations[line])
                )
                for line in lines
            ]
        )

    monkeypatch.setattr("rnnsearch_tf.extras.plots.vectors.sentence_vectors", states)
    monkeypatch.setattr(Workspace, "phrase_based", lambda work: None)
    monkeypatch.setattr(phrase_based, "rows", lambda folder: None)
    monkeypatch.setattr(cho2014_figures, "best_translations", lambda table: translations)
    work = Workspace(tmp_path, None)
    # anything with no model in it
    monkeypatch.setattr(work, "translator", lambda name, seed: sutskever2014_figures)
    monkeypatch.setattr(sutskever2014_figures, "model", None, raising=False)
    monkeypatch.setattr(sutskever2014_figures, "source_text", None, raising=False)
    [found] = cho2014_figures.measured_paraphrases(work, "phrase-scorer")
    assert found["near"] == near and (meaning or found["same"] == pytest.approx(found["other"]))


def test_a_table_without_paraphrases_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(Workspace, "phrase_based", lambda work: None)
    monkeypatch.setattr(
        phrase_based, "rows", lambda folder: [phrase_based.Row("a black dog runs", "x", 1.0, 1.0)]
    )
    with pytest.raises(
        UserError,
        match=(
            "expected phrases of 4 or more words that share their likeliest translation, found none"
        ),
    ):
        cho2014_figures.measured_paraphrases(Workspace(tmp_path, None), "phrase-scorer")


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
        squares.append(
            (
                np.mean([units[j] @ units[k] for j, k in itertools.product(inside, inside)]),
                point,
                half,
            )
        )
    squares.sort(key=lambda square: -square[0])
    found = regions(points, vectors, number=3, members=8)
    (centre, half), expected = found[0], squares[0]
    assert (centre == expected[1]).all() and half == pytest.approx(expected[2])
    assert len(found) == 3
    for (one, mine), (other, its) in itertools.combinations(found, 2):
        assert max(abs(one - other)) > mine + its
    assert all(
        sum(max(abs(centre - point)) <= half for point in points) == 8 for centre, half in found
    )


def test_a_region_has_its_points_in_the_colour_of_its_frame():
    generator = np.random.default_rng(4)
    points = generator.uniform(size=(90, 2))
    texts = [f"w{k}" for k in range(90)]
    figures = zoomed_figures(points, texts, regions(points, generator.normal(size=(90, 4))))
    frame = figures["whole"].axes[0].patches[0]
    region = figures["region-1"].axes[0]
    left, bottom = frame.get_xy()
    inside = (
        abs(points - [left + frame.get_width() / 2, bottom + frame.get_height() / 2])
        <= frame.get_width() / 2 + 1e-12
    ).all(axis=1)
    np.testing.assert_allclose(region.collections[0].get_offsets(), points[inside])
    assert {label.get_text() for label in region.texts} <= {
        texts[k] for k in np.flatnonzero(inside)
    }
    np.testing.assert_array_equal(region.collections[0].get_facecolor()[0], frame.get_edgecolor())
    squares = [(point, 0.01) for point in points[:5]]
    assert list(zoomed_figures(points, texts, squares)) == [
        "whole",
        *(f"region-{k}" for k in range(1, 6)),
    ]


@pytest.fixture
def phrase_table(tmp_path, monkeypatch):
    """Lines of a table of the captions' phrases; the workspace finds it."""
    words = [word for caption in CAPTIONS for word in caption.rstrip(".?").lower().split()]
    spans = sorted({" ".join(words[k : k + 4]) for k in range(len(words) - 3)})
    lines = [
        f"{span} ||| {'xy'[place % 2]} ||| 1 1 {0.9 / (place + 1):g} 1 ||| 0-0 ||| 1 {10 + place} 1"
        for place, span in enumerate(spans)
    ]
    (tmp_path / "phrase-table.gz").write_bytes(
        gzip.compress("".join(f"{line}\n" for line in lines).encode())
    )
    monkeypatch.setattr(Workspace, "phrase_based", lambda work: tmp_path)
    return [line.split(" ||| ") for line in lines]


def test_the_page_of_two_scores(workspace, phrase_table):
    page = cho2014_figures.figure_3(workspace, ("rnnsearch-50",))
    sources, targets, scores = list(zip(*phrase_table))[:3]
    model = workspace.translator("rnnsearch-50", 1234).score(sources, targets, tokenized=True)

    def ranked(values):
        return [
            np.mean([(other < value) + (other == value) / 2 for other in values])
            for value in values
        ]

    expected = np.corrcoef(ranked([float(each.split()[2]) for each in scores]), ranked(model))[0, 1]
    assert [row["pairs"] for row in page.ours] == [len(phrase_table)] * 3
    assert page.ours[0]["rank correlation"] == pytest.approx(expected)
    assert png(page.pictures["scores"]).startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_pages_of_words_and_phrases(workspace, phrase_table):
    words, phrases = (
        make(workspace, ("rnnsearch-50",))
        for make in (cho2014_figures.figure_4, cho2014_figures.figure_5)
    )
    for page in (words, phrases):
        assert (
            {"whole", "region-1"}
            <= page.pictures.keys()
            <= {"whole", "region-1", "region-2", "region-3"}
        )
        assert all(png(figure).startswith(b"\x89PNG") for figure in page.pictures.values())
    assert 0 < phrases.ours[0]["pairs"] <= 2
