"""Looking at text before training: the engines of doctor, init and select."""
