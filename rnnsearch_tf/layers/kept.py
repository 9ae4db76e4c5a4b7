"""What stays the same through a loop, made once outside it: weights read, and cast for products.

Search calls a model's step inside ``tf.while_loop``; what the step makes of the weights alone
would be made again at every word. Inside :func:`weights_kept` it is made in the surrounding graph.
"""

import contextlib
import contextvars

import tensorflow as tf

_KEPT = contextvars.ContextVar("kept", default=None)


class _Kept:
    def __init__(self, graph, parts):
        self.graph, self.parts, self._values = graph, parts, {}

    def get(self, make, what, *of):
        """make(), called once for what is made of these objects, in the surrounding graph."""
        key = what, *map(id, of)
        if key not in self._values:
            with self.graph.as_default():
                self._values[key] = of, make()  # the objects are kept too, so that nothing else gets their ids
        return self._values[key][1]

    def has(self, values):
        """Whether the tensor is of the surrounding graph."""
        return getattr(values, "graph", None) is self.graph


@contextlib.contextmanager
def weights_kept(parts=1):
    """While a graph is traced: weights are read once for all of it. Eagerly it changes nothing.

    Args:
        parts: int, products to compute at once where a core would have nothing to do; see :func:`parts` and threads.py.
    """
    token = _KEPT.set(None if tf.executing_eagerly() else _Kept(tf.compat.v1.get_default_graph(), parts))
    try:
        yield
    finally:
        _KEPT.reset(token)


def keeping():
    """Whether weights are read once for all of the graph."""
    return _KEPT.get() is not None


def parts():
    """Products that a step of a search with few rows should make of its largest one."""
    kept = _KEPT.get()
    return 1 if kept is None else kept.parts


def read(variable):
    """The value of a variable."""
    kept = _KEPT.get()
    return tf.convert_to_tensor(variable) if kept is None else kept.get(lambda: tf.convert_to_tensor(variable), "value", variable)


def cast(values, dtype):
    """The tensor in ``dtype``; one from outside a loop is cast outside."""
    kept = _KEPT.get()
    if kept is None or values.dtype == dtype or not kept.has(values):
        return tf.cast(values, dtype)
    return kept.get(lambda: tf.cast(values, dtype), "cast", values)


def gather(values, indices, axis=0):
    """``tf.gather``; of a tensor from outside a loop it is done outside, once."""
    kept = _KEPT.get()
    if kept is None or not (kept.has(values) and kept.has(indices)):
        return tf.gather(values, indices, axis=axis)
    return kept.get(lambda: tf.gather(values, indices, axis=axis), "gather", values, indices)
