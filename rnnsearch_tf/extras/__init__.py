"""What the core does without: Moses files, keras-nlp models, ONNX, the server."""
