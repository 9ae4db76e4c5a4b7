"""Pictures: attention, learned vectors, TensorBoard."""
