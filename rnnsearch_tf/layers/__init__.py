"""The layers of the systems, one idea per file. Weights keep the letters of the papers.

May import errors, runtime and config.
"""

from rnnsearch_tf.layers.attention import AttentionMemory, BahdanauAttention
from rnnsearch_tf.layers.decoder import Decoder
from rnnsearch_tf.layers.embedding import WordEmbedding
from rnnsearch_tf.layers.encoder import BiGRUEncoder, Encoder
from rnnsearch_tf.layers.output import DeepOutput

__all__ = [
    "AttentionMemory",
    "BahdanauAttention",
    "BiGRUEncoder",
    "Decoder",
    "DeepOutput",
    "Encoder",
    "WordEmbedding",
]
