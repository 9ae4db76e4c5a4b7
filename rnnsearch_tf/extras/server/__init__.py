"""The embedded server: any SavedModel over gRPC and REST, as tensorflow_model_server answers.

There are two kinds of processes. The one that listens has no TensorFlow: server, grpc_front and
rest pass requests on as bytes (core), models finds the versions, process watches the process of
each. A model's process, forked by launcher, may be killed at any time and is started again: worker
answers, with servable, batching, checks, tensors and json_tensors. They communicate in frames.
client asks any server; tls checks the files of both.

May import errors and runtime.
"""
