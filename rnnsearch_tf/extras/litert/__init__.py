"""Export a model as one LiteRT file (.tflite), for phones and small machines.

``writer.py``: the export from RUN to ``DIR/N``; ``graph.py``: the beam search as a LiteRT graph;
``answers.py``: answers in a fresh process.
"""
