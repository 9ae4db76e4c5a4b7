"""A small server for development: one SavedModel over gRPC and REST, with the protocol of
TensorFlow Serving, which is the server for production.

``servable.py``: the model; ``grpc_services.py``, with ``tensors.py``; ``rest.py``, with
``json_tensors.py`` and ``page/``; ``server.py``: all of it together. ``client.py`` asks any server.
"""
