"""Training in several processes or on several devices: addresses, workers, shares of a batch.

May import errors and runtime.
"""
