"""Word alignment: links from attention, error rate.

May import errors, runtime, config and text.
"""

Link = tuple[int, int]
"""(source position, target position), both from 0."""
