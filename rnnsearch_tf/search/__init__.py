"""Beam search and sampling; they use the start and the step of a model, not its class."""
