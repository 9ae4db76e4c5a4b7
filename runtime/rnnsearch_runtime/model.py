"""Open a model file: an ONNX graph with the whole beam search, and what it needs as metadata."""

from __future__ import annotations

import json
import os
import pathlib
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

FORMAT = 1  # the newest format of model files that this version reads

_KINDS: dict[str, type] = {"name": str, "maximum_source_length": int, "has_attention": bool}
_KINDS |= dict.fromkeys(("source", "target", "search"), dict)
_EXPORT = "`rnnsearch export --format onnx`"


class ModelError(ValueError):
    """A model file cannot be used here. The message says what to do."""


def shipped() -> pathlib.Path:
    """The path of the model in this package; ModelError if there is none, or several."""
    found = sorted((pathlib.Path(__file__).parent / "models").glob("*.onnx"))
    if len(found) != 1:
        raise ModelError(
            f"model: expected the path of a model file, as this package has {len(found)} of its"
            f" own, got none; name a file that {_EXPORT} wrote"
        )
    return found[0]


def open_model(
    path: str | os.PathLike[str], threads: int
) -> tuple[InferenceSession, dict[str, Any]]:
    """Open a model file.

    Args:
        path: the .onnx file.
        threads: threads of one operation.

    Returns:
        (session, metadata of format 1).

    Raises:
        ModelError: the file is missing, damaged, or no model of this kind.
    """
    try:
        with open(path, "rb") as file:
            begin = file.read(1)
    except OSError as error:
        raise ModelError(
            f"{path}: expected a model file (.onnx), got: {error.strerror}; check the path"
        ) from None
    if begin != b"\x08":  # the number of ONNX's first field
        raise ModelError(
            f"{path}: expected an ONNX file, got {'another' if begin else 'an empty'} file; name a"
            f" file that {_EXPORT} wrote"
        )
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
    except Exception as error:  # onnxruntime's classes are private, and have no common one
        # the path may contain any word; C++ signatures before the message say nothing
        text = " ".join(str(error).replace(os.fspath(path), "it").split())
        gist = text.rpartition(") ")[2].strip(", ")[:300]
        version = f"a model that onnxruntime {onnxruntime.__version__} runs"
        for signs, expected, advice in (
            ("ir version|opset|registered", version, "pip install --upgrade onnxruntime"),
            ("external", "the weights in the file or beside it", "copy the files beside it, too"),
            ("", "a complete ONNX file", f"copy it again, or write it with {_EXPORT}"),
        ):
            if re.search(signs, text.lower()):
                raise ModelError(f"{path}: expected {expected}, got: {gist}; {advice}") from None
        raise
    return session, _checked(path, session.get_modelmeta().custom_metadata_map)


def _checked(path: str | os.PathLike[str], metadata: dict[str, str]) -> dict[str, Any]:
    """The metadata as a dict."""
    if "rnnsearch" not in metadata:
        raise ModelError(
            f"{path}: expected a model that {_EXPORT} wrote, got an ONNX file of another program;"
            " name another file"
        )
    try:
        about: dict[str, Any] = json.loads(metadata["rnnsearch"])
        if not (newer := about["format"] > FORMAT):
            for key, kind in _KINDS.items():
                if type(about[key]) is not kind or (kind is int and about[key] < 1):
                    raise TypeError(f"{key}: {str(about[key])[:40]!r}")
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise ModelError(
            f"{path}: expected complete metadata, got {type(error).__name__}: {error}; copy the"
            f" file again, or write it with {_EXPORT}"
        ) from None
    if newer:
        raise ModelError(
            f"{path}: expected a model file of format {FORMAT}, got the newer format"
            f" {about['format']}; pip install --upgrade rnnsearch-runtime"
        )
    return about
