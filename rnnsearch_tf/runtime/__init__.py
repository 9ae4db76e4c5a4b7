"""The surroundings of TensorFlow: its quiet import, cores, child processes, progress bars, optional
packages, and the parts of TensorFlow and Keras that are not public.

May import errors.
"""
