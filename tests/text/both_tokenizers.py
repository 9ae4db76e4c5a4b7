"""Ours and sacremoses' tokenizer and detokenizer of a language, for the tests that compare them."""

import functools

import sacremoses
import tensorflow as tf
from rnnsearch_tf.text.moses import detokenize, tokenize
from rnnsearch_tf.text.pipeline import clean


@functools.cache
def compiled(language):
    """tokenize and detokenize in graph mode, any batch size."""
    strings = tf.TensorSpec([None], tf.string)
    ragged = tf.RaggedTensorSpec([None, None], tf.string)
    return (
        tf.function(
            lambda texts: tokenize(clean(texts), language),
            autograph=False,
            input_signature=[strings],
        ),
        tf.function(
            lambda tokens: detokenize(tokens, language), autograph=False, input_signature=[ragged]
        ),
    )


@functools.cache
def reference(language):
    """The same of sacremoses."""
    return sacremoses.MosesTokenizer(language), sacremoses.MosesDetokenizer(language)
