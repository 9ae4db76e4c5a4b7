"""Export a trained model as a SavedModel for TensorFlow Serving: raw text in, raw text out.

``profile.py``: the options; ``signatures.py``: the functions of text as signatures; ``weights.py``:
storage of the weights; ``writer.py``: from the run folder to ``DIR/N``; ``saved_model.py`` and
``check.py``: the check in a fresh process before ``publishing.py`` gives the export its version
number; ``opening.py``: a Translator of an export.
"""
