"""Load a trained model; translate, score, align and sample text with it.

May import errors, files, runtime, config, runs, text, search and models.
"""

from rnnsearch_tf.translation.results import (
    ScoredPair,
    Hypothesis,
    Sample,
    TextTranslator,
    Translation,
)
from rnnsearch_tf.translation.translator import Translator

__all__ = ["ScoredPair", "Hypothesis", "Sample", "TextTranslator", "Translation", "Translator"]
