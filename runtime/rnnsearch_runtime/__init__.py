"""Translate with models that ``rnnsearch export --format onnx`` wrote, without TensorFlow.

Example:
    from rnnsearch_runtime import Translator
    Translator("model.onnx").translate("She is reading.").text
"""

from __future__ import annotations

from rnnsearch_runtime.model import ModelError
from rnnsearch_runtime.translator import Hypothesis, Translation, Translator

__all__ = ["Hypothesis", "ModelError", "Translation", "Translator"]
__version__ = "0.1.0"
