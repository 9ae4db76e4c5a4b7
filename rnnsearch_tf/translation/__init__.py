"""Load a trained model; translate, score, align and sample text with it."""

from rnnsearch_tf.translation.results import Hypothesis, Sample, ScoredPair, Translation
from rnnsearch_tf.translation.translator import Translator

__all__ = ["Hypothesis", "Sample", "ScoredPair", "Translation", "Translator"]
