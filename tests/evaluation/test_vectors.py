"""Vectors against the equations' references, places in the plane against NumPy's singular values,
and the verb that draws them.
"""

import io
import pathlib

import numpy as np
import pytest
import tensorflow as tf
from tiny_rnnsearch import SOURCE_SIZE
from tiny_run import write_run
from tiny_systems import tiny_system

from rnnsearch_tf.cli.main import run
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.extras.plots.alignment import vectors_figure
from rnnsearch_tf.extras.plots.vectors import project, sentence_vectors, word_vectors
from rnnsearch_tf.translation.loading import load_run

pytest.importorskip("sklearn")
IDS = np.array([[3, 4, 5, 6, 1], [7, 3, 1, 0, 0], [8, 1, 0, 0, 0]], np.int32) % SOURCE_SIZE


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("vectors") / "run")


@pytest.mark.parametrize(
    "name", ["rnnsearch", "rnnencdec", "encoder_decoder", "deep_lstm", "luong-general"]
)
def test_padding_and_company_change_nothing(name):
    model = tiny_system(name)
    together = model.source_vectors(tf.constant(IDS)).numpy()
    assert together.shape[0] == len(IDS) and np.ptp(together, axis=0).max() > 1e-3
    for ids, vector in zip(IDS, together):
        np.testing.assert_allclose(
            model.source_vectors(tf.constant(ids[ids != 0][np.newaxis])).numpy()[0],
            vector,
            atol=1e-12,
        )


def test_vectors_are_what_the_papers_plot():
    """From the pieces of each system, one sentence and one position at a time."""
    ids = tf.constant(IDS[:1])
    model = tiny_system("rnnsearch")
    annotations = model.encoder(model.source_embedding(ids)).numpy()[0]
    np.testing.assert_allclose(
        model.source_vectors(ids).numpy()[0], sum(annotations) / len(annotations), atol=1e-12
    )
    model = tiny_system("rnnencdec")
    np.testing.assert_allclose(
        model.source_vectors(ids).numpy()[0],
        model.encoder(model.source_embedding(ids)).numpy()[0, -1],
        atol=1e-12,
    )
    model = tiny_system("encoder_decoder")
    weights = model.paper_weights()
    first = model.start(ids)[0]["state"].numpy()[0]  # h'_0 = tanh(V' c)
    bias = weights.get("b_V_prime", 0)
    np.testing.assert_allclose(
        np.tanh(model.source_vectors(ids).numpy()[0] @ weights["V_prime"] + bias), first, atol=1e-12
    )
    model = tiny_system("deep_lstm")
    layers = model.start(ids)[0]
    np.testing.assert_allclose(
        model.source_vectors(ids).numpy()[0],
        np.concatenate([layer["state"][0] for layer in layers]),
        atol=1e-12,
    )


@pytest.mark.parametrize("side", ["source", "target"])
def test_word_vectors_are_rows_of_the_embedding(folder, side):
    """A word's row is that of its line in the vocabulary file."""
    model, *texts, _ = load_run(folder)
    lines = pathlib.Path(folder, f"vocabulary.{side}.txt").read_text(encoding="utf-8").splitlines()
    words, vectors = word_vectors(model, texts[side == "target"], side, 20)
    rows = model.paper_weights()[f"E_{side}"]
    assert words == lines[3:23]
    np.testing.assert_array_equal(vectors, [rows[lines.index(word)] for word in words])


def test_sentence_vectors_do_not_depend_on_the_batches(folder):
    model, text, *_ = load_run(folder)
    lines = [
        "The door is white.",
        "My sister sells an old book.",
        "The cat.",
        "Where is the cat?",
        "She goes.",
    ]
    alone = [sentence_vectors(model, text, [line])[0] for line in lines]
    for batch_size in (2, 5, 64):
        np.testing.assert_allclose(
            sentence_vectors(model, text, lines, batch_size), alone, atol=1e-6
        )


def test_four_points_are_enough_and_three_are_not():
    vectors = np.random.default_rng(6).normal(size=(4, 3))
    for method in ("tsne", "pca"):
        assert np.isfinite(project(vectors, method)).all()
    with pytest.raises(UserError, match="expected at least 4 words or sentences to plot, got 3"):
        project(vectors[:3])


@pytest.mark.parametrize("method", ["tsne", "pca"])
@pytest.mark.filterwarnings("error")
def test_equal_rows_have_one_place(method):
    """As of a file that repeats a line: both methods would divide by their variance, 0."""
    vectors = np.tile(np.random.default_rng(6).normal(size=(1, 7)), (5, 1))
    np.testing.assert_array_equal(project(vectors, method), np.zeros((5, 2)))


def test_an_unknown_method_is_refused():
    with pytest.raises(UsageError, match="method: expected tsne or pca, got 'umap'"):
        project(np.eye(5), "umap")


def test_principal_components():
    vectors = np.random.default_rng(2).normal(size=(40, 6)) * [5, 3, 1, 1, 1, 1]
    centred = vectors - vectors.mean(axis=0)
    _, _, directions = np.linalg.svd(centred)
    points = project(vectors, "pca")
    np.testing.assert_allclose(abs(points), abs(centred @ directions[:2].T), atol=1e-10)


def test_neighbours_stay_neighbours():
    generator = np.random.default_rng(3)
    group = np.repeat(np.arange(3), 20)
    points = project(10 * np.eye(8)[group] + generator.normal(size=(60, 8)), "tsne")
    distance = np.linalg.norm(points[:, None] - points, axis=-1) + 1e9 * np.eye(60)
    assert (group[distance.argmin(axis=1)] == group).all()


def test_the_same_vectors_have_the_same_places():
    """Vectors as long as those of real models: scikit-learn's beginning is drawn for them, not for
    short ones.
    """
    vectors = np.random.default_rng(0).normal(size=(60, 620))
    np.testing.assert_array_equal(project(vectors), project(vectors))


@pytest.mark.parametrize("word, fewest", [("word", 40), ("a phrase of several words ", 15)])
def test_labels_do_not_overlap_or_leave_the_frame_of_the_picture(word, fewest):
    generator = np.random.default_rng(1)
    points = generator.normal(size=(150, 2))
    figure = vectors_figure(points, [f"{word}{number}" for number in range(150)])
    figure.savefig(io.BytesIO())  # the layout is that of the picture
    [axes] = figure.axes
    boxes = [label.get_window_extent() for label in axes.texts]
    assert len(axes.collections[0].get_offsets()) == 150
    # the first has its label in any case
    assert fewest < len(boxes) < 150 and axes.texts[0].get_text() == f"{word}0"
    assert not any(one.overlaps(other) for k, one in enumerate(boxes) for other in boxes[:k])
    frame = axes.get_window_extent()
    assert all(frame.containsx(x) and frame.containsy(y) for box in boxes for x, y in box.corners())


def test_the_verb(folder, tmp_path, capsys, monkeypatch):
    lines = [
        "The door is white.",
        "My sister sells an old book.",
        "",
        "The door is white.",
        "She goes to the hotel.",
        "Where is the cat?",
        "$5 et $6",
    ]
    (tmp_path / "lines").write_text("\n".join(lines) + "\n")
    for what, method, count in (
        ("words", "pca", 12),
        ("phrases", "tsne", 5),
        ("sentences", "tsne", 6),
    ):
        words = [
            "embed",
            "--model",
            str(folder),
            "--method",
            method,
            "--number",
            "12",
            "--output",
            str(tmp_path / "out"),
            what,
        ]
        assert run(words + [str(tmp_path / "lines")] * (what != "words")) == 0
        picture, table = capsys.readouterr().out.split()
        assert picture == str(tmp_path / "out" / f"{what}-{method}.png")
        assert pathlib.Path(picture).read_bytes().startswith(b"\x89PNG")
        rows = [line.split("\t") for line in pathlib.Path(table).read_text().splitlines()]
        assert (
            len(rows) == count and np.isfinite([[float(x) for x in row[1:]] for row in rows]).all()
        )
        texts = [row[0] for row in rows]
        if what == "words":
            assert (
                texts
                == pathlib.Path(folder, "vocabulary.source.txt").read_text().splitlines()[3:15]
            )
        else:
            assert texts == list(
                dict.fromkeys(filter(None, lines)) if what == "phrases" else filter(None, lines)
            )


@pytest.mark.parametrize(
    "words, code, message",
    [
        (["words", "file"], 2, "expected no file"),
        (["sentences", "--side", "target"], 2, "--side"),
        (["words", "--number", "3"], 1, "at least 4"),
        (["phrases", "/dev/null"], 1, "/dev/null: expected phrases"),
        (["words", "--model", "x"], 2, "expected one"),
        (["words", "--seed", "2"], 2, "unknown option"),
    ],
)
def test_what_is_wrong_is_said(folder, tmp_path, capsys, words, code, message):
    assert run(["embed", "--model", str(folder), "--output", str(tmp_path / "out"), *words]) == code
    captured = capsys.readouterr()
    assert message in captured.err and captured.err.count("\n") == 1 and captured.out == ""


def test_a_missing_package_is_named(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sklearn", None)
    assert run(["embed", "--model", str(folder), "--output", str(tmp_path), "words"]) == 1
    assert "rnnsearch-tf[plots]" in capsys.readouterr().err
