"""Export a trained RUN as a SavedModel for TensorFlow Serving: raw text in, raw text out.

``profile.py``: export options; ``signatures.py``: what the model computes; ``weights.py``: storage
of the weights; ``writer.py``: the export from RUN to ``DIR/N``; ``check.py`` and ``session.py``:
the checks before ``publishing.py`` gives the export its version number.

May import errors, files, runtime, config, runs, text, search, data, evaluation and translation.
"""
