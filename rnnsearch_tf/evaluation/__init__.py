"""Evaluation: BLEU and chrF by sacreBLEU, by length; the tokenized BLEU of the papers.

May import errors, files, runtime, config, runs, text and alignment.
"""
