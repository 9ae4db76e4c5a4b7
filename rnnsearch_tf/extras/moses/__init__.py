"""Add the model's scores to Moses n-best lists and phrase tables."""
