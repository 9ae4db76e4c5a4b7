"""Export a model as one ONNX file, for ONNX Runtime and the small runtime in ``runtime/``.

``writer.py``: the export from RUN to ``DIR/N``; ``graph.py``: the beam search as an ONNX graph;
``loops.py``: weights as constants of its loops; ``weights.py``: weights in float16 and int8;
``answers.py``: answers in a fresh process.
"""
