"""One loaded version of a model: a SavedModel in a graph and a v1 session of its own.

A v1 session is the engine of tensorflow_model_server too: what loads and runs
here does there, with the same errors.
"""

from __future__ import annotations

import pathlib
import time
from collections.abc import Iterator
from typing import Any

import grpc
import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  its operations, which the stock server links
from tensorflow.python.client import pywrap_tf_session as tf_session
from tensorflow_serving.apis import predict_pb2, prediction_log_pb2

from rnnsearch_tf.extras.server import checks
from rnnsearch_tf.extras.server.errors import ServingError, code_of, invalid_argument
from rnnsearch_tf.extras.server.tensors import as_array

v1 = tf.compat.v1
WARM_UP_FILE = pathlib.PurePath("assets.extra", "tf_serving_warmup_requests")
MOST_WARM_UP_REQUESTS = 1000


class Servable:
    """A version that can be run from many threads.

    Args:
        path: folder of the SavedModel.
        threads: runs at once.
        intra_op: threads of one operation; 0: TensorFlow chooses.

    Attributes:
        signatures: {name: SignatureDef}.

    Raises:
        ServingError: it does not load; the message is TensorFlow's.
    """

    def __init__(self, path: str, threads: int, intra_op: int = 0):
        self._file = pathlib.Path(path) / WARM_UP_FILE
        self._session = v1.Session(
            graph=tf.Graph(),
            config=v1.ConfigProto(
                # one for each run, so that none waits for another; many more cost speed
                inter_op_parallelism_threads=threads,
                intra_op_parallelism_threads=intra_op,
            ),
        )
        try:
            with self._session.graph.as_default():
                graph = v1.saved_model.load(self._session, ["serve"], str(path))
        except Exception as error:
            raise as_serving_error(error) from None
        self.signatures = {
            name: value
            for name, value in graph.signature_def.items()
            if not name.startswith("__saved_model_init")
        }
        self._probe: predict_pb2.PredictRequest | None = None

    def run(self, signature: str, inputs: dict, outputs: tuple, end: float) -> list[np.ndarray]:
        """Run a signature once.

        Args:
            signature: name of a signature.
            inputs: dict of np.ndarray, one for each input of the signature.
            outputs: names of outputs.
            end: time.monotonic() value at which the run is broken off.

        Returns:
            list of np.ndarray, in the order of `outputs`.

        Raises:
            ServingError: what TensorFlow says; DEADLINE_EXCEEDED at `end`.
        """
        definition = self.signatures[signature]
        feeds = {definition.inputs[name].name: value for name, value in inputs.items()}
        fetches = [definition.outputs[name].name for name in outputs]
        milliseconds = max(1, round((end - time.monotonic()) * 1000))
        options = v1.RunOptions(timeout_in_ms=milliseconds)
        try:
            return [as_array(value) for value in _run(self._session, fetches, feeds, options)]
        except Exception as error:
            raise as_serving_error(error) from None

    def warm_up(self) -> None:
        """Answer every request of the SavedModel's warm-up file, if it has one.

        Raises:
            ServingError: a request fails, or is none; the version must not be served.
        """
        for number, request in enumerate(self._requests(), start=1):
            if number == 1:
                self._probe = request
            if number > MOST_WARM_UP_REQUESTS:
                raise invalid_argument(
                    "Number of warmup records exceeds the maximum"
                    f" ({MOST_WARM_UP_REQUESTS}): {self._file}"
                )
            try:
                self._answer(request, float("inf"))
            except ServingError as error:
                raise ServingError(
                    error.code, f"warm-up request {number} of {self._file}: {error.message}"
                ) from None

    def probe(self, end: float) -> None:
        """Answer the first request of the warm-up again; without one do nothing."""
        if self._probe is not None:
            self._answer(self._probe, end)

    def _answer(self, request: predict_pb2.PredictRequest, end: float) -> None:
        name, signature = checks.find_signature(self.signatures, request.model_spec.signature_name)
        inputs = checks.to_arrays(signature, request.inputs)
        outputs = checks.output_names(signature, list(request.output_filter))
        self.run(name, inputs, outputs, min(end, time.monotonic() + 3600))

    def _requests(self) -> Iterator[predict_pb2.PredictRequest]:
        if not self._file.exists():
            return
        try:
            for record in v1.io.tf_record_iterator(str(self._file)):
                log = prediction_log_pb2.PredictionLog.FromString(record)
                if log.WhichOneof("log_type") != "predict_log":
                    raise ServingError(
                        grpc.StatusCode.UNIMPLEMENTED,
                        f"{self._file}: expected predict_log records, got"
                        f" {log.WhichOneof('log_type')}",
                    )
                yield log.predict_log.request
        except Exception as error:
            raise as_serving_error(error) from None


def _run(session: Any, fetches: list[str], feeds: dict[str, Any], options: Any) -> list[Any]:
    """Session.run without the shape check that Python adds; the stock server leaves shapes to the
    operations. Tensors are fetched and fed by their names.
    """
    tensor = session.graph.as_graph_element
    fed = {
        tensor(name).ref(): np.asarray(value, tensor(name).dtype.as_numpy_dtype)
        for name, value in feeds.items()
    }
    computed = [tensor(name) for name in dict.fromkeys(fetches) if tensor(name).ref() not in fed]
    buffer = tf_session.TF_NewBufferFromString(options.SerializeToString())
    try:
        values = session._do_run(None, [], computed, fed, buffer, None) if computed else []
    finally:
        tf_session.TF_DeleteBuffer(buffer)
    known = fed | {output.ref(): value for output, value in zip(computed, values)}
    return [known[tensor(name).ref()] for name in fetches]


def as_serving_error(error: Exception) -> ServingError:
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
        return ServingError(code_of(error.error_code), message)
    if isinstance(error, (ValueError, TypeError)):  # an array that cannot be fed
        return invalid_argument(str(error))
    return ServingError(grpc.StatusCode.UNKNOWN, f"{type(error).__name__}: {error}")
