"""Beam search, sampling and forced scoring: they know a start and a step, never a model class."""
