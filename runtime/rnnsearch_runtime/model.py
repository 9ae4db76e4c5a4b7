"""Open a model file: an ONNX graph with the whole beam search, and what it needs as metadata."""

from __future__ import annotations

import json
import os
import pathlib
from typing import TYPE_CHECKING, Any

from rnnsearch_runtime.errors import ModelError

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

FORMAT = 1
"""The newest format of model files that this version reads."""

_AGAIN = "copy the file again, or write it with `rnnsearch export --format onnx`"
_OUTPUTS = 6  # ids, lengths, log-probabilities, scores, alignments, finished


def shipped() -> pathlib.Path:
    """The path of the model in this package.

    Raises:
        ModelError: there is none, or several.
    """
    folder = pathlib.Path(__file__).parent / "models"
    found = sorted(folder.glob("*.onnx"))
    if len(found) != 1:
        raise ModelError(
            f"model: expected the path of a model file, as this installation has {len(found)}"
            " models of its own, got none; name a file that `rnnsearch export --format onnx` wrote"
        )
    return found[0]


def open_model(
    path: str | os.PathLike[str], threads: int
) -> tuple[InferenceSession, dict[str, Any]]:
    """Open a model file.

    Args:
        path: the .onnx file.
        threads: of one operation.

    Returns:
        (onnxruntime session, metadata of the model).

    Raises:
        ModelError: the file is missing, damaged, or no model of this kind.
    """
    import onnxruntime

    try:
        with open(path, "rb") as file:
            begin = file.read(2)
    except OSError as error:
        raise ModelError(
            f"{path}: expected a model file (.onnx), got: {error.strerror}; check the path"
        ) from None
    # the first field of an ONNX file is the version of the format
    if begin[:1] != b"\x08":
        raise ModelError(
            f"{path}: expected an ONNX file, got {'another' if begin else 'an empty'} file; name a"
            " file that `rnnsearch export --format onnx` wrote"
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    # waiting threads sleep: spinning takes the cores from others, and is no faster here
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 4  # errors come as exceptions
    try:
        session = onnxruntime.InferenceSession(
            os.fspath(path), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # onnxruntime's classes are private, and have no common one
        raise _cannot_open(path, error, onnxruntime.__version__) from None
    metadata = session.get_modelmeta().custom_metadata_map
    return session, _checked(path, session, metadata)


def _cannot_open(path: str | os.PathLike[str], error: Exception, version: str) -> ModelError:
    kind = type(error).__name__
    gist = " ".join(str(error).split())[:300]
    low = gist.lower()
    if "ir version" in low or "opset" in low or kind == "NotImplemented":
        return ModelError(
            f"{path}: expected a model that onnxruntime {version} runs, got: {gist}; install a"
            " newer one, pip install --upgrade onnxruntime"
        )
    if "external" in low:
        return ModelError(
            f"{path}: expected its weights in the file or beside it, got: {gist}; copy the files"
            " beside it too, or take the single file of `rnnsearch export --format onnx`"
        )
    return ModelError(f"{path}: expected a complete ONNX file, got: {gist}; {_AGAIN}")


def _checked(
    path: str | os.PathLike[str], session: InferenceSession, metadata: dict[str, str]
) -> dict[str, Any]:
    """The metadata as a dict with the keys of format 1, and "lexicon", a dict or None."""
    if "rnnsearch" not in metadata:
        raise ModelError(
            f"{path}: expected a model that `rnnsearch export --format onnx` wrote, got an ONNX"
            " file of another program; name another file"
        )
    try:
        about = json.loads(metadata["rnnsearch"])
        number = about["format"]
        if isinstance(number, int) and number > FORMAT:
            raise ModelError(
                f"{path}: expected a model file of format {FORMAT}, got format {number}, which is"
                " newer; upgrade it, pip install --upgrade rnnsearch-runtime"
            )
        if number != FORMAT:
            raise ValueError(f"format {number!r}")
        keys = ("name", "source", "target", "maximum_source_length", "has_attention", "search")
        found = {key: about[key] for key in keys}
        lexicon = json.loads(metadata.get("lexicon", "null"))
        wrong = [key for key in ("source", "target", "search") if not isinstance(found[key], dict)]
        if wrong or not isinstance(lexicon, (dict, type(None))):
            raise ValueError(f"no object for {', '.join(wrong) or 'the lexicon'}")
        if not isinstance(found["maximum_source_length"], int):
            raise ValueError(f"maximum_source_length {found['maximum_source_length']!r}")
    except ModelError:
        raise
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"{path}: expected complete metadata, got {type(error).__name__}: {error}; {_AGAIN}"
        ) from None
    inputs, outputs = len(session.get_inputs()), len(session.get_outputs())
    if (inputs, outputs) != (1, _OUTPUTS):
        raise ModelError(
            f"{path}: expected a graph with 1 input and {_OUTPUTS} outputs, got {inputs} and"
            f" {outputs}; {_AGAIN}"
        )
    return found | {"lexicon": lexicon}
