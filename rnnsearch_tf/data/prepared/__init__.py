"""Corpora beyond memory: written once as ids, read by number."""
