"""Training data: text files to checked sentence pairs, ids and padded batches.

May import errors, files, runtime, config, runs, text and alignment.
"""
