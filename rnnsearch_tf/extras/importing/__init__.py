"""Make a RUN of a model that another program trained.

One file for each program, with its names and what its model computes; ``foreign.py``: what they
have in common; ``check.py``: comparison with translations that the other program wrote.
"""
