"""The Translator with a tiny model, and the errors of model files."""

from __future__ import annotations

import pathlib
from typing import Any

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
    assert best.log_probability == -2.0
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
            (n, n) for n in (2, 0, 4, 0, 3, 2)
        ]  # without padding
    assert translator.translate([]) == []
    empty = translator.translate("")
    assert (empty.score, empty.tokens, empty.source_tokens, len(empty.nbest)) == (0.0, [], [], 1)


def test_overlong_sentence(model: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    best = Translator(model).translate("the cat " * 4)
    assert best.text == "le chat le chat le"
    assert "of 8 tokens was cut to 5, the maximum length: the cat the" in caplog.text


def test_unknown_words(tmp_path: pathlib.Path) -> None:
    about = tiny.ABOUT | {"search": {"replace_unknown": True}}
    plain = Translator(tiny.write(tmp_path / "plain.onnx", about))
    assert plain.translate("the Zoé sleeps dog").text == "le Zoé dort dog"


def test_the_mean_probability_of_a_token(model: pathlib.Path) -> None:
    found = Translator(model).translate("the cat sleeps")
    assert found.log_probability == -2.0
    assert found.probability == pytest.approx(np.exp(-2.0 / 4))  # three words and the end symbol


def test_wrong_arguments(model: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="threads"):
        Translator(model, threads=0)
    with pytest.raises(ValueError, match="batch_size"):
        Translator(model).translate(["a"], batch_size=0)
    with pytest.raises(TypeError, match="got one as int"):
        Translator(model).translate([1])


def test_probabilities_that_are_not_finite(tmp_path: pathlib.Path) -> None:
    translator = Translator(tiny.write(tmp_path / "nan.onnx", scale=float("nan")))
    with pytest.raises(ModelError, match="finite probabilities"):
        translator.translate("the cat")


@pytest.mark.parametrize(
    "about, message",
    [
        ("", "expected an ONNX file that `rnnsearch export"),
        ("{", "expected an ONNX file that `rnnsearch export"),
        ({"format": 2}, "newer format 2; pip install --upgrade rnnsearch-runtime"),
    ],
)
def test_models_that_cannot_be_used(tmp_path: pathlib.Path, about: Any, message: str) -> None:
    path = tiny.write(tmp_path / "model.onnx", about)
    with pytest.raises(ModelError, match=f"model.onnx.*{message}"):
        Translator(path)


def test_files_that_are_no_models(tmp_path: pathlib.Path, model: pathlib.Path) -> None:
    path = tmp_path / "other.onnx"
    for data in (b"", b"a text\n", model.read_bytes()[:-100]):
        path.write_bytes(data)
        with pytest.raises(ModelError, match="other.onnx: expected an ONNX file"):
            Translator(path)
    with pytest.raises(ModelError, match="nothing: expected an ONNX file"):
        Translator(tmp_path / "nothing")


def test_no_model_is_named() -> None:
    import rnnsearch_runtime.model

    folder = pathlib.Path(rnnsearch_runtime.model.__file__).parent / "models"
    if len(list(folder.glob("*.onnx"))) == 1:
        assert Translator().translate("").text == ""
    else:
        with pytest.raises(ModelError, match="expected the path of a model file"):
            Translator()
