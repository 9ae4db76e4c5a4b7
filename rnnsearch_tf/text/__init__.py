"""Text to tokens to ids and back, in TensorFlow operations: the same for training and for serving.

May import errors, files, runtime, config and runs.
"""
