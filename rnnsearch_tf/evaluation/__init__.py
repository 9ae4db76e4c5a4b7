"""Evaluation: BLEU and chrF by sacreBLEU, alignments, pictures of them."""
