"""Store the weights of an ONNX graph in int8.

For the product A W by a weight, A is rounded to eight bits, with a scale for each row, the product
is computed in integers, and the scales of the rows of A and of the columns of W restore it. A row
does not depend on the others, and so a translation does not depend on its batch; with one scale for
all of A, as ONNX Runtime's own dynamic quantization has it, it would.
"""

from __future__ import annotations

import numpy as np
import onnx

from rnnsearch_tf.extras.onnx.loops import (
    add_constant,
    all_graphs,
    arrays,
    remove_unused_constants,
)
from rnnsearch_tf.runs.eight_bit import is_small, quantize

RUNTIME = "com.microsoft"
"""Domain of ONNX Runtime's own operations."""

LEVELS = 90
"""Factors of a product are from −LEVELS to LEVELS; those of A are stored as uint8, from 0 on.
Without VNNI, a processor adds two products in 16 bits: 2 · 180 · 90 fits, 2 · 255 · 127 would not.
"""


def quantize_weights(model: onnx.ModelProto) -> None:
    """Convert the weights of a model to 8 bits, in place."""
    quantizer = _Quantizer(model.graph)
    for each in all_graphs(model.graph):
        nodes = [new for node in each.node for new in quantizer.replaced(node)]
        del each.node[:]
        each.node.extend(nodes)
    remove_unused_constants(model.graph)
    model.opset_import.append(onnx.helper.make_opsetid(RUNTIME, 1))


class _Quantizer:
    """Replaces the nodes that read a large weight; each weight is quantized once."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self._graph = graph
        self._large = {
            name: array
            for name, array in arrays(graph).items()
            if array.dtype == np.float32 and not is_small(array)
        }
        self._stored: dict[tuple[str, str], tuple[str, str]] = {}
        constants: dict[str, np.ndarray] = {
            "last_axis": np.array([-1], np.int64),
            "one": np.array(1, np.float32),
            "step": np.array(1 / LEVELS, np.float32),
            "least_scale": np.array(1e-30, np.float32),
            "zero_point": np.array(LEVELS, np.uint8),
        }
        for name, array in constants.items():
            add_constant(graph, name, array)

    def replaced(self, node: onnx.NodeProto) -> list[onnx.NodeProto]:
        """The nodes that stand for a node."""
        if node.op_type == "MatMul" and node.input[1] in self._large:
            return self._product(node.input[0], node.input[1], node.output[0])
        if node.op_type == "Gather" and node.input[0] in self._large:
            return self._lookup(node.input[0], node.input[1], node.output[0])
        return [node]

    def _product(self, values: str, weight: str, output: str) -> list[onnx.NodeProto]:
        """A W ≈ (s t) ⊙ (round(A / s) Q) for the scales s of the rows of A and t of W's columns."""
        quantized, scale = self._quantized(weight, "columns")
        make = onnx.helper.make_node
        row_scale, rows, product = f"{output}.row_scale", f"{output}.rows", f"{output}.product"
        return [
            make("Abs", [values], [f"{output}.sizes"]),
            make("ReduceMax", [f"{output}.sizes", "last_axis"], [f"{output}.largest"]),
            make("Mul", [f"{output}.largest", "step"], [f"{output}.scale"]),
            make("Max", [f"{output}.scale", "least_scale"], [row_scale]),
            make("Div", [values, row_scale], [f"{output}.steps"]),
            make("QuantizeLinear", [f"{output}.steps", "one", "zero_point"], [rows]),
            make(
                "MatMulIntegerToFloat",
                [rows, quantized, "one", scale, "zero_point"],
                [product],
                domain=RUNTIME,
            ),
            make("Mul", [product, row_scale], [output]),
        ]

    def _lookup(self, weight: str, ids: str, output: str) -> list[onnx.NodeProto]:
        """Rows of an embedding: q · its scale."""
        values, scale = self._quantized(weight, "rows")
        make = onnx.helper.make_node
        return [
            make("Gather", [values, ids], [f"{output}.int8"]),
            make("Cast", [f"{output}.int8"], [f"{output}.float"], to=onnx.TensorProto.FLOAT),
            make("Gather", [scale, ids], [f"{output}.scale"]),
            make("Mul", [f"{output}.float", f"{output}.scale"], [output]),
        ]

    def _quantized(self, name: str, by: str) -> tuple[str, str]:
        """Names of the weight's values, int8, and of its scales: float32 [columns] of a product, or
        [rows, 1] of an embedding.
        """
        if (name, by) not in self._stored:
            array = self._large[name]
            values, scale = quantize(array.T) if by == "rows" else quantize(array, LEVELS)
            assert scale is not None  # the weight is large
            values, scale = (values.T, scale.T) if by == "rows" else (values, scale[0])
            self._stored[name, by] = (
                add_constant(self._graph, f"{name}.int8.{by}", values),
                add_constant(self._graph, f"{name}.scale.{by}", scale.astype(np.float32)),
            )
        return self._stored[name, by]
