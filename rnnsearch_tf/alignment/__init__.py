"""Word alignment: links from attention, error rate."""

Link = tuple[int, int]
"""(source position, target position), both from 0."""
