"""Beam search, sampling and forced scoring. They know a start and a step, never a model class.

May import errors, files, runtime, config and text.
"""
