"""A trained model on disk (a RUN): paths, checksums, weights, shipped models.

May import errors and files.
"""
