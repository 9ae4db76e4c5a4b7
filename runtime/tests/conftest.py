"""Fixtures: a tiny model file, a SentencePiece model."""

from __future__ import annotations

import base64
import io
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))


@pytest.fixture
def model(tmp_path: pathlib.Path) -> pathlib.Path:
    pytest.importorskip("onnx")
    import tiny

    return tiny.write(tmp_path / "tiny.onnx")


@pytest.fixture(scope="session")
def subword_model() -> str:
    """A SentencePiece model in base64."""
    sentencepiece = pytest.importorskip("sentencepiece")
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["the cat sleeps", "the cats sleep", "a dog sleeps too"] * 5),
        model_writer=written,
        vocab_size=30,
        hard_vocab_limit=False,
        pad_id=0,
        eos_id=1,
        unk_id=2,
        bos_id=-1,
        pad_piece="<pad>",
        character_coverage=1.0,
        minloglevel=2,
    )
    return base64.b64encode(written.getvalue()).decode()
