"""Store the weights of an ONNX graph in float16 or int8.

float16: each is converted to float32 when the file is loaded. int8: the product A W by a weight
becomes ONNX Runtime's dynamic quantization: A is rounded to eight bits, with one scale for all of
A, the product is computed in integers, and the scales of A and of each column of W restore it.
Departure from search in float32: since the scale of A comes from all rows, a score depends a little
on the rest of the batch.
"""

from __future__ import annotations

from collections import Counter

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

ZERO_POINT = 128
"""What stands for 0 in the weights of a product, uint8."""


def store_weights(model: onnx.ModelProto, storage: str) -> None:
    """Convert the weights of a model in place.

    Args:
        model: ModelProto of :func:`~rnnsearch_tf.extras.onnx.graph.search_onnx`.
        storage: ``float32``, ``float16`` or ``int8``.
    """
    if storage == "float16":
        _halve(model.graph)
    elif storage == "int8":
        _quantize(model)


def _halve(graph: onnx.GraphProto) -> None:
    casts = []
    for weight in list(graph.initializer):
        array = onnx.numpy_helper.to_array(weight)
        if array.dtype != np.float32 or is_small(array):
            continue
        half = add_constant(graph, f"{weight.name}.float16", array.astype(np.float16))
        casts.append(
            onnx.helper.make_node("Cast", [half], [weight.name], to=onnx.TensorProto.FLOAT)
        )
        graph.initializer.remove(weight)
    for cast in reversed(casts):
        graph.node.insert(0, cast)


def _quantize(model: onnx.ModelProto) -> None:
    quantizer = _Quantizer(model.graph)
    for each in all_graphs(model.graph):
        quantizer.replace_nodes(each)
    remove_unused_constants(model.graph)
    model.opset_import.append(onnx.helper.make_opsetid(RUNTIME, 1))


class _Quantizer:
    """Replaces the nodes that read a large weight; each weight is quantized once."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self._graph = graph
        self._arrays = arrays(graph)
        self._large = {
            name
            for name, array in self._arrays.items()
            if array.dtype == np.float32 and not is_small(array)
        }
        self._stored: dict[tuple[str, str], tuple[str, str]] = {}
        self._zero_point = add_constant(graph, "zero_point", np.array(ZERO_POINT, np.uint8))

    def replace_nodes(self, graph: onnx.GraphProto) -> None:
        """Replace products and lookups of weights in one graph."""
        uses = Counter(name for node in graph.node for name in node.input)
        uses.update(value.name for value in graph.output)
        adds = {
            node.input[0]: node
            for node in graph.node
            if node.op_type == "Add" and self._is_bias(node.input[1])
        }
        nodes: list[onnx.NodeProto] = []
        folded: set[str] = set()
        for node in graph.node:
            if node.op_type == "MatMul" and node.input[1] in self._large:
                add = adds.get(node.output[0])
                if add is not None and uses[node.output[0]] == 1:
                    folded.add(add.output[0])
                    nodes.append(self._product(node, add.output[0], self._bias(add.input[1])))
                else:
                    nodes.append(self._product(node, node.output[0], ""))
            elif node.op_type == "Gather" and node.input[0] in self._large:
                nodes += self._lookup(node)
            elif not folded.intersection(node.output):
                nodes.append(node)
        del graph.node[:]
        graph.node.extend(nodes)

    def _is_bias(self, name: str) -> bool:
        array = self._arrays.get(name)
        return array is not None and array.ndim > 0 and array.size == array.shape[-1]

    def _bias(self, name: str) -> str:
        flat = f"{name}.bias"
        if flat not in self._arrays:
            self._arrays[flat] = self._arrays[name].reshape(-1)
            add_constant(self._graph, flat, self._arrays[flat])
        return flat

    def _product(self, node: onnx.NodeProto, output: str, bias: str) -> onnx.NodeProto:
        values, scale = self._quantized(node.input[1], "columns")
        return onnx.helper.make_node(
            "DynamicQuantizeMatMul",
            [node.input[0], values, scale, self._zero_point, bias],
            [output],
            name=node.name,
            domain=RUNTIME,
        )

    def _lookup(self, node: onnx.NodeProto) -> list[onnx.NodeProto]:
        """Rows of an embedding: q · its scale."""
        values, scale = self._quantized(node.input[0], "rows")
        output = node.output[0]
        make = onnx.helper.make_node
        return [
            make("Gather", [values, node.input[1]], [f"{output}.int8"]),
            make("Cast", [f"{output}.int8"], [f"{output}.float"], to=onnx.TensorProto.FLOAT),
            make("Gather", [scale, node.input[1]], [f"{output}.scale"]),
            make("Mul", [f"{output}.float", f"{output}.scale"], [output]),
        ]

    def _quantized(self, name: str, by: str) -> tuple[str, str]:
        """Names of the weight's values, uint8 of a product and int8 of an embedding, and of its
        scales: float32 [columns] or [rows, 1].
        """
        if (name, by) not in self._stored:
            array = self._arrays[name]
            values, scale = quantize(array.T if by == "rows" else array)
            assert scale is not None  # the weight is large
            if by == "rows":
                values, scale = values.T, scale.T
            else:
                # unsigned: products of signed weights overflow 16 bits on processors without VNNI
                values, scale = (values.astype(np.int16) + ZERO_POINT).astype(np.uint8), scale[0]
            self._stored[name, by] = (
                add_constant(self._graph, f"{name}.int8.{by}", values),
                add_constant(self._graph, f"{name}.scale.{by}", scale.astype(np.float32)),
            )
        return self._stored[name, by]
