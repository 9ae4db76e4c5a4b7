"""Corpora larger than memory: written once as ids, read by pair number."""
