"""The papers' tables and figures made again: each item trains its models, measures them, and leaves
a page.
"""
