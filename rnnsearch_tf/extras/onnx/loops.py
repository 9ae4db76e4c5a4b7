"""Make the weights that a loop uses constants of the graph.

tf2onnx passes weights into a loop as variables that the loop returns unchanged. ONNX Runtime then
cannot prepare them for its products, and a product by an eight-bit weight needs a constant. A body
may read the values of the graph around it, so each such variable is replaced by the constant.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnx


def hoist_constants(graph: onnx.GraphProto) -> None:
    """Replace constant variables of loops, transpose constants, and store equal constants once."""
    _number_constants(graph)
    _hoist(graph, set())
    _transpose_constants(graph)
    _merge_constants(graph)


def subgraphs(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    """The bodies of a loop, the branches of a condition."""
    return [each.g for each in node.attribute if each.type == onnx.AttributeProto.GRAPH]


def all_graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """All graphs in the graph, then the graph itself: whoever replaces the nodes of a graph copies
    the graphs in them, so these come first.
    """
    for node in graph.node:
        for inner in subgraphs(node):
            yield from all_graphs(inner)
    yield graph


def rename(graph: onnx.GraphProto, names: Mapping[str, str], defined: bool = False) -> None:
    """Rename values where they are read, in the graph and in all graphs in it; with `defined`,
    also where they are computed. A graph in it that has a value of the same name keeps its own.
    """
    for node in graph.node:
        for inner in subgraphs(node):
            own = {value.name for value in (*inner.input, *inner.initializer)}
            own.update(name for each in inner.node for name in each.output)
            rename(inner, {name: names[name] for name in names if name not in own}, defined)
        _replace(node.input, [names.get(name, name) for name in node.input])
        if defined:
            _replace(node.output, [names.get(name, name) for name in node.output])
    for value in [*graph.output, *(graph.input if defined else ())]:
        value.name = names.get(value.name, value.name)


def remove_unused_constants(graph: onnx.GraphProto) -> None:
    """Remove the initializers that nothing reads."""
    read = {name for each in all_graphs(graph) for node in each.node for name in node.input}
    read |= {value.name for each in all_graphs(graph) for value in each.output}
    _replace(graph.initializer, [each for each in graph.initializer if each.name in read])


def arrays(graph: onnx.GraphProto) -> dict[str, np.ndarray]:
    """{name: array} of the graph's initializers."""
    return {each.name: onnx.numpy_helper.to_array(each) for each in graph.initializer}


def add_constant(graph: onnx.GraphProto, name: str, array: np.ndarray) -> str:
    """Add an initializer to the graph; returns its name."""
    graph.initializer.append(onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
    return name


def _replace(old: Any, new: list[Any]) -> None:
    """Replace the items of a repeated field."""
    del old[:]
    old.extend(new)


def _number_constants(graph: onnx.GraphProto) -> None:
    """Give every constant a name of its own: the bodies of loops use the same names."""
    numbers = itertools.count()
    for each in all_graphs(graph):
        names = {constant.name: f"constant.{next(numbers)}" for constant in each.initializer}
        rename(each, names)
        for constant in each.initializer:
            constant.name = names[constant.name]


def _hoist(graph: onnx.GraphProto, constants: set[str]) -> None:
    """Replace the variables of loops that keep their first value, if that is a constant."""
    constants = constants | {each.name for each in graph.initializer}
    _remove_copies(graph, constants)
    for node in graph.node:
        if node.op_type == "Loop":
            rename(graph, _remove_constant_variables(node, constants))
        for inner in subgraphs(node):
            _hoist(inner, constants)


def _remove_copies(graph: onnx.GraphProto, constants: set[str]) -> None:
    """Remove the nodes that only copy a constant."""
    copies: dict[str, str] = {}
    for node in graph.node:
        if node.op_type == "Identity":
            source = copies.get(node.input[0], node.input[0])
            if source in constants:
                copies[node.output[0]] = source
    rename(graph, copies)
    _replace(graph.node, [node for node in graph.node if node.output[0] not in copies])


def _remove_constant_variables(loop: onnx.NodeProto, constants: set[str]) -> dict[str, str]:
    """Remove these variables from a loop; returns {output of the loop: constant}.

    A Loop has the inputs (most iterations, condition, variables), its body the inputs (iteration,
    condition, variables) and the outputs (condition, variables, ...).
    """
    [body] = subgraphs(loop)
    same = {node.output[0]: node.input[0] for node in body.node if node.op_type == "Identity"}
    values: dict[str, str] = {}  # {variable of the body: constant}
    after: dict[str, str] = {}
    kept = []
    for k, first in enumerate(loop.input[2:]):
        variable, result = body.input[k + 2].name, body.output[k + 1].name
        while result in same:
            result = same[result]
        if result == variable and first in constants:
            values[variable] = first
            after[loop.output[k]] = first
        else:
            kept.append(k)
    variables = len(loop.input) - 2
    further = range(variables, len(loop.output))
    for field, before, more in (
        (loop.input, 2, ()),
        (loop.output, 0, further),
        (body.input, 2, ()),
        (body.output, 1, further),
    ):
        _replace(field, [*field[:before], *(field[before + k] for k in [*kept, *more])])
    rename(body, values)
    return after


def _transpose_constants(graph: onnx.GraphProto) -> None:
    constants = arrays(graph)
    for each in all_graphs(graph):
        names: dict[str, str] = {}
        for node in each.node:
            if node.op_type != "Transpose" or node.input[0] not in constants:
                continue
            [order] = [list(one.ints) for one in node.attribute if one.name == "perm"]
            name = f"{node.input[0]}.transposed.{'.'.join(map(str, order))}"
            if name not in constants:
                constants[name] = constants[node.input[0]].transpose(order)
                add_constant(graph, name, constants[name])
            names[node.output[0]] = name
        _replace(each.node, [node for node in each.node if node.output[0] not in names])
        rename(each, names)


def _merge_constants(graph: onnx.GraphProto) -> None:
    first: dict[Any, str] = {}
    names = {
        name: first.setdefault((array.dtype, array.shape, array.tobytes()), name)
        for name, array in arrays(graph).items()
    }
    rename(graph, names)
    remove_unused_constants(graph)
