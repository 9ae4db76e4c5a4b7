"""The surroundings of TensorFlow: its quiet import, cores, child processes, progress bars, optional
packages.

May import errors.
"""
