"""The command line: one module for each command.

May import everything.
"""
