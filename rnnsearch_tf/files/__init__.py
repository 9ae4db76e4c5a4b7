"""Text files and atomic writes: one reader, one writer.

May import errors.
"""
