"""Text to tokens to ids and back, in TensorFlow ops: one implementation for training and for serving."""
