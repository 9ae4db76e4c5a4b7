"""Plots of attention weights and of learned vectors."""
