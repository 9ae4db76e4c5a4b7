"""The command line: one file a verb, arguments parsed before TensorFlow is imported."""
