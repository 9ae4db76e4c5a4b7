"""Work with the files of a phrase-based system: Moses n-best lists and phrase tables."""
