"""Evaluation: BLEU, chrF and TER by sacreBLEU, significance, search errors.

May import errors, files, runtime, config, runs, text and alignment.
"""
