"""The embedded server: any SavedModel over gRPC and REST, as tensorflow_model_server answers."""
