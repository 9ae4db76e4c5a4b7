"""Export a model as one ONNX file, for ONNX Runtime and the small runtime in ``runtime/``.

``export.py``: the export as ``DIR/N``; ``graph.py``: the beam search as an ONNX graph;
``loops.py``: weights as constants of its loops; ``weights.py``: weights in int8; ``check.py``: the
comparison with the Python model.
"""
