"""The layers of the systems, one idea per file. Weights have the letters of the papers.

Those named in ``__all__`` can be called on ``keras.Input``, in a model of one's own.
"""

from rnnsearch_tf.layers.attention import BahdanauAttention
from rnnsearch_tf.layers.encoder import BiGRUEncoder
from rnnsearch_tf.layers.output import DeepOutput

__all__ = ["BahdanauAttention", "BiGRUEncoder", "DeepOutput"]
