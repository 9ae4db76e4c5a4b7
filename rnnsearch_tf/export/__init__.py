"""A trained RUN as a SavedModel: raw text in, raw text out, for TensorFlow Serving.

``profile.py`` what to export; ``signatures.py`` what it answers; ``weights.py`` how its
weights are stored; ``writer.py`` the way from RUN to ``DIR/N``; ``check.py`` and
``session.py`` what must hold before ``publishing.py`` gives it its number.

May import errors, files, runtime, config, runs, text, search, data, evaluation and translation.
"""
