"""A model so small that its ids can be written down: source words a = 3, b = 4; target words x = 3,
y = 4, z = 5.
"""

import numpy as np

from rnnsearch_tf.config import TextConfig
from rnnsearch_tf.extras.hub import (
    RNNSearchBackbone,
    RNNSearchSeq2SeqLM,
    RNNSearchSeq2SeqLMPreprocessor,
    RNNSearchTokenizer,
)
from rnnsearch_tf.text.pipeline import build_text

OPTIONS = dict(
    embedding_size=3,
    hidden_size=4,
    alignment_size=3,
    maxout_size=3,
    output_rank=None,
    initialization="variance_preserving",
)
SOURCES = ["a b", "b"]
TARGETS = ["x y", "z"]
SOURCE_LENGTH = 4
TARGET_LENGTH = 3


def tokenizer(*lines):
    """Words by falling frequency, from id 3 on."""
    return RNNSearchTokenizer(
        build_text(TextConfig(tokenization="space", vocabulary_size=9), list(lines))
    )


def preprocessor():
    return RNNSearchSeq2SeqLMPreprocessor(
        tokenizer("x y z", "x y", "x"), tokenizer("a b", "a"), SOURCE_LENGTH, TARGET_LENGTH
    )


def small_model(dtype=None, **options):
    """Every weight drawn from N(0, 0.6²)."""
    backbone = RNNSearchBackbone(5, 6, OPTIONS | options, dtype=dtype)
    generator = np.random.default_rng(3)
    for variable in backbone.system.trainable_variables:
        variable.assign(generator.normal(scale=0.6, size=variable.shape))
    model = RNNSearchSeq2SeqLM(backbone, preprocessor(), {"beam_size": 2})
    model.compile(optimizer="sgd", run_eagerly=True)
    return model
