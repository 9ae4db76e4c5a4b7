"""Training: the loop, its callbacks, optimizers, checkpoints, exact resume."""
