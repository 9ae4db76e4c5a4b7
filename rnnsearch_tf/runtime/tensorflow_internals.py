"""Operations of TensorFlow that only ``tf.raw_ops`` has; no other file of the package takes any.

Tried with TensorFlow 2.21.0; ``tests/house/test_library_internals.py`` tests each.
"""

import tensorflow as tf

apply_adadelta = tf.raw_ops.ResourceApplyAdadelta
apply_adam = tf.raw_ops.ResourceApplyAdam
"""Update a weight in one pass over memory; Keras's optimizers compute the same in many."""
