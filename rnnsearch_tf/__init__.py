"""Attention-based neural machine translation in TensorFlow, after the papers.

Importing this package imports neither TensorFlow nor Keras; the submodules that
compute do. ``rnnsearch_tf.backend`` checks that Keras runs on TensorFlow.
Where Keras is imported, it knows the models' classes (see ``registration.py``).
"""

from rnnsearch_tf.registration import register_with_keras

__version__ = "0.1.0"

register_with_keras()
