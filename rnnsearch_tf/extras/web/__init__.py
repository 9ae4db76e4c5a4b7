"""Export a model as a web page that needs no server: the attention page, with the model in it.

``writer.py``: the export from RUN to ``DIR/N``; ``library.py``: onnxruntime-web, which runs the
model in a browser; ``page/``: what the page has in place of a server.
"""
