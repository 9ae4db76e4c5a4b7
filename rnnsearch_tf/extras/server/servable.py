"""One loaded version of a model: a SavedModel in a graph and a v1 session of its own.

A v1 session is the engine of tensorflow_model_server too: what loads and runs
here does there, with the same errors.
"""

from __future__ import annotations

import time

import grpc
import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  its operations, which the stock server links
from tensorflow.python.client import pywrap_tf_session as tf_session

from rnnsearch_tf.extras.server.errors import ServingError, invalid_argument
from rnnsearch_tf.extras.server.tensors import as_array

v1 = tf.compat.v1
_CODES = {code.value[0]: code for code in grpc.StatusCode}


class Servable:
    """A version that can be run from many threads.

    Args:
        name, version: of the model, in requests.
        path: folder of the SavedModel.
        tags: of the MetaGraph to load.
        session_config: tf.compat.v1.ConfigProto, or None.
        metrics: counters, or None.

    Raises:
        ServingError: it does not load; the message is TensorFlow's.
    """

    def __init__(self, name, version, path, tags=("serve",), session_config=None, metrics=None):
        self.name = name
        self.version = version
        self._metrics = metrics
        self._session = v1.Session(graph=tf.Graph(), config=session_config)
        try:
            with self._session.graph.as_default():
                graph = v1.saved_model.load(self._session, list(tags), str(path))
        except Exception as error:
            self._session.close()
            raise as_serving_error(error) from None
        self.signatures = {
            name: value
            for name, value in graph.signature_def.items()
            if not name.startswith("__saved_model_init")
        }

    def run(self, signature, inputs, outputs, timeout=None):
        """Run a signature once.

        Args:
            signature: name of a signature.
            inputs: dict of np.ndarray, one for each input of the signature.
            outputs: names of outputs.
            timeout: seconds after which the run is broken off, or None.

        Returns:
            list of np.ndarray, in the order of `outputs`.

        Raises:
            ServingError: what TensorFlow says; DEADLINE_EXCEEDED after `timeout`.
        """
        definition = self.signatures[signature]
        feeds = {definition.inputs[name].name: value for name, value in inputs.items()}
        fetches = [definition.outputs[name].name for name in outputs]
        options = (
            None if timeout is None else v1.RunOptions(timeout_in_ms=max(1, round(timeout * 1000)))
        )
        started = time.monotonic()
        try:
            return [as_array(value) for value in _run(self._session, fetches, feeds, options)]
        except Exception as error:
            raise as_serving_error(error) from None
        finally:
            if self._metrics is not None:
                self._metrics.run(self.name, time.monotonic() - started)

    def close(self):
        self._session.close()


def _run(session, fetches, feeds, options):
    """Session.run without the shape check that Python adds; the stock server leaves shapes to the
    operations.

    Args:
        fetches: names of tensors.
        feeds: dict of np.ndarray by name of a tensor.
        options: v1.RunOptions, or None.
    """
    tensor = session.graph.as_graph_element
    fed = {
        tensor(name).ref(): np.asarray(value, tensor(name).dtype.as_numpy_dtype)
        for name, value in feeds.items()
    }
    computed = [tensor(name) for name in dict.fromkeys(fetches) if tensor(name).ref() not in fed]
    buffer = tf_session.TF_NewBufferFromString(options.SerializeToString()) if options else None
    try:
        values = session._do_run(None, [], computed, fed, buffer, None) if computed else []
    finally:
        if buffer:
            tf_session.TF_DeleteBuffer(buffer)
    known = fed | {output.ref(): value for output, value in zip(computed, values)}
    return [known[tensor(name).ref()] for name in fetches]


def as_serving_error(error) -> ServingError:
    """The status of an exception of TensorFlow."""
    if isinstance(error, ServingError):
        return error
    if isinstance(error, tf.errors.DeadlineExceededError):
        return ServingError(
            grpc.StatusCode.DEADLINE_EXCEEDED, "Timed out waiting for the run to end"
        )
    if isinstance(error, tf.errors.OpError):
        original = error.__context__  # the C++ runtime's message, without Python's stack
        message = original.message if isinstance(original, tf.errors.OpError) else error.message
        return ServingError(_CODES.get(error.error_code, grpc.StatusCode.UNKNOWN), message)
    if isinstance(error, (ValueError, TypeError)):  # an array that cannot be fed
        return invalid_argument(str(error))
    return ServingError(grpc.StatusCode.UNKNOWN, f"{type(error).__name__}: {error}")
