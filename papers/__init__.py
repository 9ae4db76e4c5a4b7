"""Reproduce the papers' tables and figures: each item trains its models, measures them and writes a
page. items.py lists the items, page.py writes the pages.
"""
