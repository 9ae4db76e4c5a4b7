"""Files and the built-in corpus → checked pairs → ids → padded batches."""
