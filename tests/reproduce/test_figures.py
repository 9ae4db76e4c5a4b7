"""The papers' figures: what is measured against brute force and known states, and the pages of models with random weights."""

import json

import numpy as np
import pytest
import sacrebleu
from tiny_run import write_run

from rnnsearch_tf.cli.main import run
from rnnsearch_tf.reproduce import monotone, sutskever2014_figures
from rnnsearch_tf.reproduce.curves import curves_figure
from rnnsearch_tf.reproduce.workspace import Workspace

pytest.importorskip("sklearn")


def numbers(folder, item):
    return json.loads((folder / f"{item}.json").read_text(encoding="utf-8"))["ours"]


def picture(folder, name):
    return (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def roles(sentence):
    """Who does it to whom, and what it is that is done."""
    words = sentence.rstrip(".").split()
    first, last = words[1], words[-1]
    verb = {passive: active for active, passive in sutskever2014_figures.VERBS}.get(words[4]) if "by" in words else words[3]
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


@pytest.mark.parametrize("state, order, voice", [(by_meaning, 1, 1), (by_order, 1, 0), (bag_of_words, 0, None)])
def test_states_that_are_known_are_told_apart(tmp_path, monkeypatch, state, order, voice):
    monkeypatch.setattr(sutskever2014_figures, "_states", lambda work, name, seed, sentences: np.stack([state(each) for each in sentences]))
    [found] = sutskever2014_figures.measured_states(Workspace(tmp_path, None), "lstm")
    assert found["order"] == order and (voice is None or found["voice"] == voice)
    assert state is not bag_of_words or found["same"] == pytest.approx(found["exchanged"])


def test_every_kind_of_sentence_is_in_the_pictures():
    """One meaning, one colour: what the two groups of a picture say is not the same, what one group says is."""
    for group, other in (sutskever2014_figures.WORD_ORDER, sutskever2014_figures.VOICE):
        assert len(group) == len(other) == 3
    active, _, passive = (sentence.replace(" in the park", "") for sentence in sutskever2014_figures.VOICE[0])
    assert roles(active) == roles(passive) != roles(sutskever2014_figures.VOICE[1][0].replace(" in the park", ""))


def test_steps_and_swaps_by_brute_force():
    generator = np.random.default_rng(5)
    for _ in range(20):
        target, source = generator.integers(1, 9, size=2)
        alignment = generator.dirichlet(np.ones(source + 1), size=target + 1)
        places = monotone.attended(alignment)
        assert places == [max(range(source), key=lambda j: alignment[i, j]) for i in range(target)]
        words = [f"s{j}" for j in range(source)], [f"t{i}" for i in range(target)]
        expected = [
            f"s{j} s{j + 1} → t{i} t{i + 1}" for i in range(target - 1) for j in range(source - 1) if (places[i], places[i + 1]) == (j + 1, j)
        ]
        assert monotone.swapped(places, *words) == expected
    assert monotone.attended(np.ones((1, 3))) == []


def test_curves_are_drawn_where_they_belong():
    curves = {"rnnsearch-50": ([1, 2], [30.0, 20.0]), "rnnencdec-50": ([1, 2], [10.0, 5.0])}
    left, right = curves_figure({"words": curves, "rank": {"lstm": ([3], [4.0])}}).axes
    assert [axes.get_xlabel() for axes in (left, right)] == ["words", "rank"]
    drawn = {line.get_label(): (line.get_linestyle(), line.get_xdata().tolist(), line.get_ydata().tolist()) for line in left.lines}
    assert drawn == {"rnnsearch-50": ("-", [1, 2], [30.0, 20.0]), "rnnencdec-50": ("--", [1, 2], [10.0, 5.0])}


CAPTIONS = ["The door is white.", "My sister sells an old book.", "She goes to the hotel.", "Where is the cat?", "The cat is white.", "He reads."]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """Random models, and translations of a test text that were made before."""
    folder = tmp_path_factory.mktemp("figures")
    work = Workspace(folder, None)
    write_run(work.run("rnnsearch-50", 1234).path)
    for name in ("rnnsearch-50", "lstm-forward", "lstm-reversed"):  # of the LSTMs only translations are asked for
        card = work.run(name, 1234).model_card
        card.parent.mkdir(exist_ok=True)
        card.write_text("random weights\n")
    texts = work.folder / "texts" / "up-to-50"
    texts.mkdir(parents=True)
    for language in ("en", "fr"):
        (texts / f"test.{language}").write_text("".join(f"{line}\n" for line in CAPTIONS), encoding="utf-8")
    work.measured("translations-rnnsearch-50-1234", lambda: {"texts": ["Le chat est blanc."] * len(CAPTIONS)})
    for name in ("lstm-forward", "lstm-reversed"):
        translated = {"12": CAPTIONS if name == "lstm-reversed" else CAPTIONS[::-1]}
        work.measured(f"captions-1-{name}-1234", lambda translated=translated: translated)
    return work


def make(work, item, monkeypatch, models=None):
    """The page of an item as the verb makes it."""
    from rnnsearch_tf.reproduce import items

    old = items.ITEMS[item]
    monkeypatch.setitem(items.ITEMS, item, items.Item(old.shows, models or old.models, old.make))
    assert run(["reproduce", item, "--data", str(work.folder), "--output", str(work.folder)]) == 0
    return numbers(work.folder, item)


def test_the_page_of_steps(workspace, monkeypatch):
    """The rows add up to all there is, and are those of the alignments."""
    [row] = make(workspace, "bahdanau2015-monotone", monkeypatch)
    assert sum(row[kind] for kind in monotone.KINDS) == pytest.approx(1)
    translator, back = workspace.translator("rnnsearch-50", 1234), []
    for caption in CAPTIONS:
        alignment = translator.score_targets([caption], ["Le chat est blanc."])[0].alignment
        heads = np.argmax(alignment[:-1, :-1], axis=1)
        back += [heads[i + 1] - heads[i] == -1 for i in range(len(heads) - 1)]
    assert row["one word back"] == pytest.approx(np.mean(back))


def test_the_page_of_lengths_and_ranks(workspace, monkeypatch):
    """A translation that is the reference has 100; one of other sentences has what sacreBLEU says."""
    monkeypatch.setattr("rnnsearch_tf.reproduce.corpora.read_multi30k", lambda data, part: list(zip(CAPTIONS, CAPTIONS)))
    rows = make(workspace, "sutskever2014-figure3", monkeypatch)
    assert {row["model"] for row in rows} == {"lstm-forward", "lstm-reversed", "rnnsearch-50"}
    assert all(row["BLEU"] == pytest.approx(100) for row in rows if row["model"] == "lstm-reversed" and row["sentences"] > 1)
    assert sum(row["sentences"] for row in rows if row["model"] == "lstm-forward") == 2 * len(CAPTIONS)
    short = [row for row in rows if (row["model"], row["sentences of"]) == ("lstm-forward", "1–5 words")][0]
    chosen = [k for k, caption in enumerate(CAPTIONS) if len(caption.rstrip(".?").split()) + 1 <= 5]
    hypotheses, references = [CAPTIONS[::-1][k] for k in chosen], [CAPTIONS[k] for k in chosen]
    assert short["sentences"] == len(chosen)
    assert short["BLEU"] == pytest.approx(sacrebleu.corpus_bleu(hypotheses, [references], lowercase=True).score)
    assert picture(workspace.folder, "sutskever2014-figure3-curves")


def test_the_page_of_sentence_states(workspace, monkeypatch):
    [row] = make(workspace, "sutskever2014-figure2", monkeypatch, ("rnnsearch-50",))
    assert 0 <= row["word order"] <= 1 and 0 <= row["voice"] <= 1 and row["distance, same roles"] > 0
    assert all(picture(workspace.folder, f"sutskever2014-figure2-{name}") for name in ("word-order", "voice"))
