"""A tiny model file: it translates word by word, id by id, and aligns each word to its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIDE = {
    "language": "en",
    "tokenization": "space",
    "lowercase": False,
}
SPECIAL = ["<pad>", "</s>", "<unk>"]
SOURCE = SIDE | {"tokens": [*SPECIAL, "the", "cat", "sleeps", "été"]}
TARGET = SIDE | {"language": "fr", "tokens": [*SPECIAL, "le", "chat", "dort", "sommer"]}
ABOUT = {
    "format": 1,
    "name": "tiny",
    "source": SOURCE,
    "target": TARGET,
    "maximum_source_length": 5,
    "has_attention": True,
    "search": {"beam_size": 2, "length_penalty": 0.0, "replace_unknown": False},
}


def graph(scale: float = -0.5) -> onnx.GraphProto:
    """The graph of a search: two hypotheses, of which the second, with half the probability, is
    an empty place for a sentence of one word.
    """
    constants = {
        "zero": np.array(0, np.int32),
        "axis1": np.array([1], np.int64),
        "last": np.array([-1], np.int64),
        "two": np.array([2], np.int32),
        "scale": np.array([scale, scale - 1], np.float32),
        "scales": np.array([[[scale], [scale - 1]]], np.float32),
        "onoff": np.array([0, 1], np.float32),
        "first": np.array(0, np.int64),
        "step": np.array(1, np.int64),
        "one": np.array(1, np.int64),
    }
    node = helper.make_node
    nodes = [
        node("Unsqueeze", ["source_ids", "axis1"], ["single"]),  # [B, 1, J]
        node("Concat", ["single", "single"], ["ids"], axis=1),
        node("Greater", ["source_ids", "zero"], ["real"]),
        node("Cast", ["real"], ["ones"], to=TensorProto.INT32),
        node("ReduceSum", ["ones", "last"], ["length"]),  # [B, 1]
        node("Greater", ["length", "two"], ["long"]),
        node("Cast", ["long"], ["longs"], to=TensorProto.INT32),
        node("Mul", ["length", "longs"], ["second"]),
        node("Concat", ["length", "second"], ["lengths"], axis=1),
        node("Cast", ["length"], ["floats"], to=TensorProto.FLOAT),
        node("Mul", ["floats", "scale"], ["log_probabilities"]),
        node("Identity", ["log_probabilities"], ["scores"]),
        node("Shape", ["source_ids"], ["shape"]),
        node("Gather", ["shape", "one"], ["J"]),
        node("Range", ["first", "J", "step"], ["places"]),
        node("OneHot", ["places", "J", "onoff"], ["eye"]),  # [J, J]
        node("Cast", ["ids"], ["float_ids"], to=TensorProto.FLOAT),
        node("Sign", ["float_ids"], ["mask"]),
        node("Mul", ["mask", "scales"], ["token_log_probabilities"]),
        node("Unsqueeze", ["mask", "last"], ["column"]),  # [B, 2, J, 1]
        node("Mul", ["column", "eye"], ["alignments"]),
        node("Greater", ["lengths", "zero"], ["finished"]),
    ]
    outputs = {
        "ids": TensorProto.INT32,
        "lengths": TensorProto.INT32,
        "log_probabilities": TensorProto.FLOAT,
        "scores": TensorProto.FLOAT,
        "alignments": TensorProto.FLOAT,
        "finished": TensorProto.BOOL,
        "token_log_probabilities": TensorProto.FLOAT,
    }
    value = helper.make_tensor_value_info
    return helper.make_graph(
        nodes,
        "search",
        [value("source_ids", TensorProto.INT32, ["B", "J"])],
        [value(name, kind, None) for name, kind in outputs.items()],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )


def write(
    path: Path,
    about: dict[str, Any] | str | None = None,
    scale: float = -0.5,
) -> Path:
    """Write a model file.

    Args:
        path: of the file.
        about: metadata; None: ABOUT; "": none.
        scale: see :func:`graph`.
    """
    model = helper.make_model(graph(scale), opset_imports=[helper.make_opsetid("", 18)])
    model.ir_version = 8
    about = ABOUT if about is None else about
    if about:
        text = about if isinstance(about, str) else json.dumps(about)
        helper.set_model_props(model, {"rnnsearch": text})
    onnx.save(model, str(path))
    return path
