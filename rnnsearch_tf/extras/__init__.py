"""What the core does without: Moses files, plots, translation of many files, keras-nlp models, the
embedded server.

May import the core.
"""
