"""Translate many text files, one output file for each input file: the engine of ``rnnsearch
translate-corpus``.

``folder.py``: the output folder and its progress; ``shard.py``: one file; ``engine.py``: the model;
``corpus.py``: all files, in processes of this machine; ``pipeline.py``: all files, with Apache
Beam.
"""
