"""Which operations of a traced function have no kernel for a GPU, by TensorFlow's own registry.

The Linux wheel of TensorFlow is built with its kernels for NVIDIA GPUs, and registers them on a
machine without one too (``tf.test.is_built_with_cuda()``).
"""

from __future__ import annotations

import functools

from tensorflow.python.framework import kernels

PYTHON = ("PyFunc", "PyFuncStateless", "EagerPyFunc")
"""Operations that run Python on the host, although they are registered for every device."""

LOOPS = ("While", "StatelessWhile")

DEVICES = ("GPU", "DEFAULT")
XLA = ("XLA_GPU_JIT",)


def without_kernel(concrete_function, devices=DEVICES) -> set:
    """Names of operations, with their data types, that have none.

    Args:
        concrete_function: a traced tf.function.
        devices: types of devices; a kernel for one of them is enough.

    Returns:
        set of (operation, its data types in words, whether it stands in a loop).
    """
    graph = concrete_function.graph.as_graph_def()
    bodies = {function.signature.name: function.node_def for function in graph.library.function}
    in_loops = _reached(
        bodies,
        [
            node.attr[part].func.name
            for node in _all(graph, bodies)
            if node.op in LOOPS
            for part in ("body", "cond")
        ],
    )
    missing = set()
    for name, nodes in [(None, graph.node), *bodies.items()]:
        missing |= {
            (node.op, _types(node), name in in_loops)
            for node in nodes
            if node.op not in bodies and not has_kernel(node, devices)
        }
    return missing


def has_kernel(node, devices=DEVICES) -> bool:
    """Whether a node has a kernel for a GPU, or one for every device, for its data types."""
    return node.op not in PYTHON and any(
        all(_fits(node.attr[name], types, texts) for name, types, texts in limits)
        for limits in _kernels(node.op, devices)
    )


@functools.cache
def _kernels(operation, devices):
    """For every such kernel of an operation, [(attribute, data types, texts)]: one of the types or
    texts is asked for.
    """
    found = kernels.get_registered_kernels_for_op(operation).kernel
    return [
        [
            (limit.name, tuple(limit.allowed_values.list.type), tuple(limit.allowed_values.list.s))
            for limit in kernel.constraint
        ]
        for kernel in found
        if kernel.device_type in devices and not kernel.label
    ]


def _fits(attribute, types, texts):
    if texts:
        return attribute.s in texts
    asked = attribute.list.type or [attribute.type]
    return all(kind in types for kind in asked)


def _types(node):
    from tensorflow import as_dtype

    names = sorted({as_dtype(value.type).name for value in node.attr.values() if value.type})
    return " ".join(names)


def _all(graph, bodies):
    yield from graph.node
    for nodes in bodies.values():
        yield from nodes


def _reached(bodies, names):
    """The functions of these names, and those that they call."""
    reached = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in bodies and name not in reached:
            reached.add(name)
            for node in bodies[name]:
                called = [value.func.name for value in node.attr.values()]
                called += [
                    function.name for value in node.attr.values() for function in value.list.func
                ]
                waiting += [*called, node.op]
    return reached
