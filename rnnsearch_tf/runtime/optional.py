"""Optional packages, installed by an extra such as ``pip install "rnnsearch-tf[plots]"``."""

from __future__ import annotations

import importlib.util

from rnnsearch_tf.errors import UserError

EXTRA_OF = {
    "matplotlib": "plots",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "sentencepiece": "subwords",
    "tf2onnx": "onnx",
}
"""{package: extra}"""


def require(what: str, *packages: str) -> None:
    """Raise UserError, which names what needs it, if an optional package is missing."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise UserError(
                f"{what}: expected the package {package}, found none; pip install"
                f' "rnnsearch-tf[{EXTRA_OF[package]}]"'
            )
