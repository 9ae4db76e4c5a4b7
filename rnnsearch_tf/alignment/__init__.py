"""Word alignment: links, symmetrization, error rate, aligners, lexicons.

May import errors, runtime and text.
"""
