"""score, align, evaluate, sample and plot-attention, against the Translator, sacreBLEU and the
model itself.
"""

import json

import numpy as np
import pytest

from rnnsearch_tf.translation.results import Sample, distinct

SOURCE = ["The door is white.", "Where is the white cat?", "", "She goes to the hotel."]
TARGET = ["La porte est blanche.", "Où sont les zèbres ?", "", "Elle va."]


def log_probability(translator, source, target):
    """From the logits that training sees, one pair by itself, in float64."""
    ids = {"source_ids": translator.source_text.encode([source]).to_tensor()}
    ids["target_ids"] = translator.target_text.encode([target]).to_tensor()
    logits = translator.model(ids).numpy()[0].astype(np.float64)  # [I, V]
    log_probabilities = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return sum(
        row[word] for row, word in zip(log_probabilities, ids["target_ids"].numpy()[0], strict=True)
    )


def test_scores_are_natural_logarithms_with_the_end_symbol(
    rnnsearch, run_folder, files, translator
):
    out, err = rnnsearch("score", "--model", run_folder, *files)
    expected = [log_probability(translator, *pair) for pair in zip(SOURCE, TARGET)]
    assert [float(line) for line in out] == pytest.approx(expected, abs=1e-4)
    assert err == ""


def test_an_unknown_word_scores_as_the_one_word_it_is(rnnsearch, run_folder, files):
    """As `translate` writes it, <unk> is the word that any unknown word is, not three words; what
    it is linked to is one word too.
    """
    files[0].write_text("The door is white.\n" * 2)
    files[1].write_text("La <unk> est <unk> <unk>.\nLa zèbre est xylophone okapi.\n")
    out, _ = rnnsearch("score", "--model", run_folder, *files)
    one, other = map(float, out)
    assert one == pytest.approx(other, abs=1e-5)  # last digit
    out, _ = rnnsearch("align", "--model", run_folder, *files)
    assert len(out) == 2 and out[0] == out[1] and len(out[0].split()) == 6


def test_alignments_hard_and_soft(rnnsearch, run_folder, files, translator):
    hard, _ = rnnsearch("align", "--model", run_folder, *files)
    soft, _ = rnnsearch("align", "--model", run_folder, "--soft", *files)
    for links, line in zip(hard, map(json.loads, soft), strict=True):
        weights = np.array(line["alignment"])
        assert weights.shape == (len(line["target_tokens"]), len(line["source_tokens"]))
        assert line["source_tokens"][-1] == line["target_tokens"][-1] == "</s>"
        np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-4)
        assert sorted(links.split()) == sorted(
            f"{row[:-1].argmax()}-{i}" for i, row in enumerate(weights[:-1])
        )
    assert hard[2] == ""
    assert json.loads(soft[0])["target_tokens"] == "La porte est blanche . </s>".split()


def test_samples_are_counted_scored_and_sorted(rnnsearch, run_folder, tmp_path):
    (tmp_path / "s").write_text("The door is white.\nShe goes.\n\n")
    words = ["sample", "--model", run_folder, "-n", 70, tmp_path / "s"]
    out, _ = rnnsearch(*words)
    assert rnnsearch(*words)[0] == out  # the same samples every time
    rows = [line.split("\t") for line in out]
    for sentence in ("0", "1"):
        mine = [row for row in rows if row[0] == sentence]
        assert sum(int(row[2]) for row in mine) == 70
        values = [float(row[1]) for row in mine]
        assert values == sorted(values, reverse=True) and values[0] < 0
    assert out[-1] == "2\t0.000000\t70\t"


def test_samples_are_distinct_by_their_tokens():
    """Subwords cut one text in several ways; each has its own probability. By hand; equals in the
    order of their drawing.
    """
    drawn = [
        Sample("la porte", -3.0, ["▁la", "▁porte"]),
        Sample("la porte", -1.0, ["▁la", "▁por", "te"]),
        Sample("une", -3.0, ["▁une"]),
        Sample("la porte", -3.0, ["▁la", "▁porte"]),
    ]
    assert distinct(drawn) == [("la porte", -1.0, 1), ("la porte", -3.0, 2), ("une", -3.0, 1)]


def test_pictures_read_files_as_translate_does(rnnsearch, run_folder, files, tmp_path):
    out, _ = rnnsearch(
        "plot-attention", "--model", run_folder, "--output", tmp_path / "pictures", files[0]
    )
    assert [bool(line) for line in out] == [True, True, False, True]
    for name in filter(None, out):
        assert open(name, "rb").read(4) == b"\x89PNG"
    assert len(list((tmp_path / "pictures").iterdir())) == 3


def test_nothing_is_drawn_for_an_empty_line(rnnsearch, run_folder, translator):
    """As `translate` has an empty translation there; the samples of the lines beside it stay."""
    empty, drawn = translator.sample([" ", "She goes."], 5)
    assert [(sample.text, sample.log_probability, sample.tokens) for sample in empty] == [
        ("", 0.0, [])
    ] * 5
    assert drawn == translator.sample(["She goes."], 5)[0]
