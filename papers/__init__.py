"""Reproduce the papers' tables and figures, one program a paper."""
