"""The systems as models of keras-nlp (keras-hub): raw strings in and out, and presets.

Example:
    from rnnsearch_tf.extras.hub import RNNSearchSeq2SeqLM
    translator = RNNSearchSeq2SeqLM.from_preset("presets/demo")
    translator.generate(["My sister sells an old book."])

Importing this module registers the classes with Keras, so that
``keras_nlp.models.Seq2SeqLM.from_preset`` finds them.
"""

from rnnsearch_tf.extras.hub.backbone import RNNSearchBackbone
from rnnsearch_tf.extras.hub.preprocessor import RNNSearchSeq2SeqLMPreprocessor
from rnnsearch_tf.extras.hub.presets import run_to_preset
from rnnsearch_tf.extras.hub.seq2seq_lm import RNNSearchSeq2SeqLM
from rnnsearch_tf.extras.hub.tokenizer import RNNSearchTokenizer

__all__ = [
    "RNNSearchBackbone",
    "RNNSearchSeq2SeqLM",
    "RNNSearchSeq2SeqLMPreprocessor",
    "RNNSearchTokenizer",
    "run_to_preset",
]
