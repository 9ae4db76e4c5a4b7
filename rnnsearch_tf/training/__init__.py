"""Training: the loop, its callbacks, optimizers, checkpoints, exact resume.

May import errors, files, runtime, config, runs, text, layers, data, evaluation, models
and translation.
"""
