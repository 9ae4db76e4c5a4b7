"""Looking at text before training: the engines of doctor and init."""
