"""Open a model file: an ONNX graph with the whole beam search, and what it needs as metadata."""

from __future__ import annotations

import json
import os
import pathlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

FORMAT = 1  # the newest format of model files that this version reads
SHIPPED = pathlib.Path(__file__).parent / "models" / "tatoeba-en-fr.onnx"


class ModelError(ValueError):
    """A model file cannot be used here. The message says what to do."""


def open_model(
    path: str | os.PathLike[str], threads: int
) -> tuple[InferenceSession, dict[str, Any]]:
    """Open a model file: (session, metadata).

    Raises:
        ModelError: the file is missing, damaged, or no model of this kind.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # all others take longer than they save
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    # spinning threads take the cores from others, and are no faster here
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 4  # errors come as exceptions
    try:
        session = onnxruntime.InferenceSession(
            os.fspath(path), options, providers=["CPUExecutionProvider"]
        )
        about: dict[str, Any] = json.loads(session.get_modelmeta().custom_metadata_map["rnnsearch"])
    except Exception as error:  # onnxruntime's classes are private, and have no common one
        raise ModelError(
            f"{path}: expected an ONNX file that `rnnsearch export --format onnx` wrote, got"
            f" {type(error).__name__}: {str(error)[:300]}; check the path, or upgrade onnxruntime"
        ) from None
    if about["format"] > FORMAT:
        raise ModelError(
            f"{path}: expected a model file of format {FORMAT}, got the newer format"
            f" {about['format']}; pip install --upgrade rnnsearch-runtime"
        )
    return session, about
