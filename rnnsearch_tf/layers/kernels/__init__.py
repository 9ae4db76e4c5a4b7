"""Recurrences over all positions with handwritten gradients.

Each of them is at least 1.15 times as fast as ``scan`` with TensorFlow's gradient, in float32 or
with products in bfloat16 (``benchmarks/kernels.py``). Combinations that are not in the table use
``scan``.
"""

from collections.abc import Callable
from typing import Any

from rnnsearch_tf.layers.kernels.gru import attending_gru, gru
from rnnsearch_tf.layers.kernels.lstm import lstm

KERNELS: dict[tuple[str, str | None], Callable[..., Any]] = {
    ("gru", None): gru,
    ("lstm", None): lstm,
    ("gru", "content"): attending_gru,
}
"""Functions by (unit, attention)."""
