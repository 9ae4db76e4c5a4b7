"""Text to tokens to ids and back, in TensorFlow operations, for both training and serving."""
