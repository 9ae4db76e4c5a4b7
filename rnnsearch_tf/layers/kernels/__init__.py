"""Recurrences over all positions whose gradients are written by hand; ``recurrence.py`` chooses among them."""
