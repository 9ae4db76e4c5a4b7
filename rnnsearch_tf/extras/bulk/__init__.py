"""Text in many files, translated: one file out for each file in, the engine of ``rnnsearch
translate-corpus``.

``folder.py`` what is to do and what is done; ``shard.py`` one file; ``engine.py`` what translates
its lines; ``corpus.py`` all files, in processes of this machine; ``pipeline.py`` all files, through
Apache Beam.
"""
