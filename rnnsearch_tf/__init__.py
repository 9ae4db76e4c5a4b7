"""Attention-based neural machine translation in TensorFlow, after the papers.

Importing this package imports neither TensorFlow nor Keras; the submodules that
compute do. ``rnnsearch_tf.backend`` checks that Keras runs on TensorFlow.
"""

__version__ = "0.1.0"
