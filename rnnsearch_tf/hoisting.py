"""Weights as constants of a loop: read once before it, and cast for bfloat16 products before it.

Search calls a model's step inside ``tf.while_loop``. Without this every step would read and cast every weight again.
:func:`hoist_weights` reads them in the surrounding graph and hands them to the layers by Keras's own ``StatelessScope``.
"""

import tensorflow as tf

from rnnsearch_tf.backend import keras


def hoist_weights(variables, values=None):
    """A context in which these variables have constant values, read in the graph that is being traced.

    Args:
        variables: list of Keras variables.
        values: list of tensors, of the same shapes and dtypes, to take in their place: an exported model stores its weights
            elsewhere, maybe in fewer bits. None: the variables' own.

    Example::

        @tf.function
        def translate(source_ids):
            with hoist_weights(model.trainable_variables):
                return search_model(model, source_ids, ...)
    """
    values = [tf.convert_to_tensor(value) for value in (variables if values is None else values)]
    for value in values:
        value.loop_constant = True
    return keras.StatelessScope(list(zip(variables, values)), initialize_variables=False)


def cast(values, dtype):
    """``tf.cast``; of a hoisted weight in the graph where it was read, outside any loop."""
    if values.dtype == dtype or not (getattr(values, "loop_constant", False) and tf.is_symbolic_tensor(values)):
        return tf.cast(values, dtype)
    with values.graph.as_default():
        return tf.cast(values, dtype)
