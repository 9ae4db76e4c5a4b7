"""Evaluation: BLEU and chrF by sacreBLEU, by length; the tokenized BLEU of the papers."""
