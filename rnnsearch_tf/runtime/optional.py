"""Optional packages, installed by an extra such as ``pip install "rnnsearch-tf[plots]"``."""

from __future__ import annotations

import importlib.util

from rnnsearch_tf.errors import UserError

PACKAGES = {
    "matplotlib": ("matplotlib", "plots"),
    "tf2onnx": ("tf2onnx", "onnx"),
    "onnx": ("onnx", "onnx"),
    "onnxruntime": ("onnxruntime", "onnx"),
}
"""{module: (package, extra)}"""


def has(*modules: str) -> bool:
    """Whether all these modules can be imported."""
    return all(importlib.util.find_spec(module) for module in modules)


def require(what: str, *modules: str) -> None:
    """Fail early if an optional package is missing.

    Args:
        what: what needs the package, for the message.
        modules: keys of PACKAGES.

    Raises:
        UserError: a module cannot be imported.
    """
    for module in modules:
        if not has(module):
            raise UserError(
                f"{what}: expected the package {PACKAGES[module][0]}, found none; {install(module)}"
            )


def install(module: str) -> str:
    """The command that installs a module of PACKAGES."""
    return f'pip install "rnnsearch-tf[{PACKAGES[module][1]}]"'
