"""A trained model on disk (a RUN): paths, weights, the shipped model."""
