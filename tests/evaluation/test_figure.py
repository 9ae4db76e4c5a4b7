"""The picture: read back pixel by pixel, and by its labels."""

import io

import numpy as np

from rnnsearch_tf.alignment import figure as plots

SOURCE = ["the", "red", "car", "$5", "</s>"]
TARGET = ["la", "voiture", "rouge", "</s>"]
ALIGNMENT = np.random.default_rng(0).dirichlet(np.ones(5), size=4)


def test_source_on_top_target_at_the_side_black_is_zero():
    axes = plots.alignment_figure(ALIGNMENT, SOURCE, TARGET).axes[0]
    assert [label.get_text().replace("\\", "") for label in axes.get_xticklabels()] == SOURCE
    assert [label.get_text() for label in axes.get_yticklabels()] == TARGET
    assert axes.xaxis.get_ticks_position() == "top"
    image = axes.images[0]
    np.testing.assert_array_equal(image.get_array(), ALIGNMENT)
    assert image.cmap(image.norm(0.0))[:3] == (0.0, 0.0, 0.0)
    assert image.cmap(image.norm(1.0))[:3] == (1.0, 1.0, 1.0)
    top, bottom = axes.transData.transform([(0, 0), (0, 3)])
    assert top[1] > bottom[1]  # the first target word is the upper one


def test_labels_of_subword_pieces():
    """A dot before what continues a word; special tokens are words, and whole words stay as they
    are.
    """
    pieces = ["▁Two", "▁dog", "s", "<unk>", "."]
    assert plots.labels(pieces) == ["Two", "dog", "·s", "<unk>", "·."]
    assert plots.labels(["Two", "dogs", "."]) == ["Two", "dogs", "."]


def test_a_long_sentence_has_a_picture_of_bounded_size():
    """500 tokens on each side would be 19,392² pixels, and take more than 10 GB to draw."""
    from matplotlib.image import imread

    alignment = np.full((500, 30), 1 / 30)
    content = plots.png(plots.alignment_figure(alignment, ["a"] * 30, ["b"] * 500))
    height, width = imread(io.BytesIO(content)).shape[:2]
    assert 4_800 < height < 5_200 and width < 1_000
