"""Beam search, sampling and scoring of given outputs: they know a start and a step, never a model class."""
