"""Word alignment: links, symmetrization, error rate, aligners, lexicons.

May import errors, runtime and text.
"""

Link = tuple[int, int]
"""(source position, target position), both from 0."""
