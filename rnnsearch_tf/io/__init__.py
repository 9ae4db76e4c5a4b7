"""Lines of text files in, results out: one reader, one writer."""
