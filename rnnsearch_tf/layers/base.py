"""What all layers here share: precision, and weights named by the paper's letters."""

import zlib

import tensorflow as tf

from rnnsearch_tf.backend import keras
from rnnsearch_tf.layers.initializers import initializer


class PaperLayer(keras.layers.Layer):
    """A Keras layer that keeps its numbers in the variables' dtype.

    Keras would cast inputs and weights to the compute dtype of a mixed policy; here
    only products are (see ``product.py``), so autocasting is off and the policy's
    compute dtype is handed to the products.

    Attributes:
        output_size: int, width of what the layer gives; known once it is built.
    """

    output_size = None

    def __init__(self, **keywords):
        keywords.setdefault("autocast", False)
        super().__init__(**keywords)

    @property
    def output_shape(self):
        """What ``summary`` shows: any number of sentences and positions, then the width."""
        return (None, None, self.output_size)

    @property
    def product_dtype(self):
        """Operand dtype of products under a mixed policy, else None."""
        return None if self.compute_dtype == self.variable_dtype else self.compute_dtype

    def matrix(self, name, shape, initializer):
        """Add a weight named by its letter in the paper."""
        return self.add_weight(name=name, shape=shape, initializer=initializer, dtype=self.variable_dtype, autocast=False)

    def vector(self, name, size):
        """Add a bias: zero at the start (Appendix B.1), under ``initialization: uniform`` drawn like every weight."""
        return self.matrix(name, (size,), self.bias_initializer(name))

    def bias_initializer(self, name):
        """What a bias of this name begins with."""
        return initializer(self.initialization, "bias", self.seed + zlib.crc32(name.encode()))


class HiddenLayer(PaperLayer):
    """A PaperLayer that is one size n, and the options that every layer has.

    Args:
        hidden_size: n.
        biases: ``groundhog``, ``none`` or ``all``.
        initialization: see ``initializers.py``.
        seed: int.
    """

    def __init__(self, hidden_size, biases="groundhog", initialization="paper", seed=0, **keywords):
        super().__init__(**keywords)
        self.hidden_size = hidden_size
        self.biases = biases
        self.initialization = initialization
        self.seed = seed

    def get_config(self):
        own = ("hidden_size", "biases", "initialization", "seed")
        return super().get_config() | {name: getattr(self, name) for name in own}


def tensor(variable):
    """The value of a Keras variable; None for None."""
    return None if variable is None else tf.convert_to_tensor(variable)


def real_positions(values, mask=None):
    """A mask [B, J] as bool; without one, True at every position of values [B, J, …]."""
    return tf.fill(tf.shape(values)[:2], True) if mask is None else tf.cast(mask, tf.bool)


def padded(bias, size):
    """A bias [..., width] of the first blocks, zeros behind it: [..., size]; None for None."""
    if bias is None:
        return None
    missing = [[0, 0]] * (len(bias.shape) - 1) + [[0, size - bias.shape[-1]]]
    return tf.pad(tensor(bias), missing)
