"""Training data: text files to checked sentence pairs, ids and padded batches."""
