"""The Translator with a tiny model, and the errors of model files."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

pytest.importorskip("onnx")

import tiny
from rnnsearch_runtime import ModelError, Translator


def test_translation(model: pathlib.Path) -> None:
    translator = Translator(model, threads=2)
    best = translator.translate("the cat sleeps")
    assert repr(best) == "Translation(text='le chat dort', score=-2.0)"
    assert best.tokens == ["le", "chat", "dort"] and best.source_tokens == ["the", "cat", "sleeps"]
    assert best.log_probability == -2.0 and best.finished
    assert best.token_log_probabilities.tolist() == [-0.5] * 4  # three words and the end symbol
    assert best.probability == pytest.approx(np.exp(-0.5))
    assert best.alignment.dtype == np.float32 and (best.alignment == np.eye(4)).all()
    assert [each.score for each in best.nbest] == [-2.0, -6.0]
    assert len(translator.translate("the").nbest) == 1  # the second place is empty
    assert best == translator.translate("the cat sleeps") != translator.translate("the cat")


def test_order_and_batches(model: pathlib.Path) -> None:
    translator = Translator(model)
    texts = ["cat", "", b"the cat sleeps", "  \t", "the x", "sleeps"]
    expected = ["chat", "", "le chat dort", "", "le <unk>", "dort"]
    for size in (1, 2, 64):
        found = translator.translate(texts, batch_size=size)
        assert [each.text for each in found] == expected
        assert [each.alignment.shape for each in found] == [
            (n, n) for n in (2, 1, 4, 1, 3, 2)
        ]  # without padding
    assert translator.translate([]) == []
    empty = translator.translate("")
    assert (empty.tokens, empty.source_tokens, len(empty.nbest)) == ([], [], 1)
    assert (empty.score, empty.probability, empty.token_log_probabilities) == (0.0, 1.0, [0.0])


def test_overlong_sentence(model: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    best = Translator(model).translate("the cat " * 4)
    assert best.text == "le chat le chat le"
    assert "of 8 tokens was cut to 5, the maximum length: the cat the" in caplog.text


def test_unknown_words(tmp_path: pathlib.Path) -> None:
    about = tiny.ABOUT | {"search": {"replace_unknown": True}}
    plain = Translator(tiny.write(tmp_path / "plain.onnx", about))
    assert plain.translate("the Zoé sleeps dog").text == "le Zoé dort dog"


def test_probabilities_that_are_not_finite(tmp_path: pathlib.Path) -> None:
    translator = Translator(tiny.write(tmp_path / "nan.onnx", scale=float("nan")))
    with pytest.raises(ModelError, match="finite probabilities"):
        translator.translate("the cat")


def test_models_that_cannot_be_used(tmp_path: pathlib.Path, model: pathlib.Path) -> None:
    newer = tiny.write(tmp_path / "newer.onnx", tiny.ABOUT | {"format": 2})
    with pytest.raises(ModelError, match="newer.onnx.*newer format 2; pip install --upgrade"):
        Translator(newer)
    (tmp_path / "cut.onnx").write_bytes(model.read_bytes()[:-100])
    for path in (tmp_path / "cut.onnx", tmp_path / "nothing", tiny.write(tmp_path / "t.onnx", "")):
        with pytest.raises(ModelError, match=f"{path.name}: expected an ONNX file"):
            Translator(path)


def test_the_shipped_model() -> None:
    best = Translator().translate("She is reading a book.")
    assert best.text == "Elle lit un livre."
    assert 0.3 < best.probability < 1 and best.finished
    assert best.token_log_probabilities.sum() == pytest.approx(best.log_probability, abs=1e-4)
