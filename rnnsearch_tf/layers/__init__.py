"""Layers of RNNsearch, one idea a file; weights keep the letters of the paper."""

from rnnsearch_tf.layers.attention import AttentionMemory, BahdanauAttention
from rnnsearch_tf.layers.decoder import Decoder
from rnnsearch_tf.layers.deep_output import DeepOutput
from rnnsearch_tf.layers.embedding import WordEmbedding
from rnnsearch_tf.layers.encoder import BiGRUEncoder, Encoder

__all__ = ["AttentionMemory", "BahdanauAttention", "BiGRUEncoder", "Decoder", "DeepOutput", "Encoder", "WordEmbedding"]
