"""The newest version of a model, in a v1 session, as tensorflow_model_server runs it."""

from __future__ import annotations

import os
from typing import Any

import grpc
import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_log_pb2

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.export.publishing import exported_version, read_about
from rnnsearch_tf.export.saved_model import SavedModel
from rnnsearch_tf.export.warmup import FILE as WARM_UP
from rnnsearch_tf.extras.server.tensors import to_array

DEFAULT_SIGNATURE = "serving_default"
LONGEST_RUN = 120.0
"""Seconds after which a run is broken off, whatever the deadline of its request."""

CODES = {code.value[0]: code for code in grpc.StatusCode}


class ServingError(Exception):
    """A request that is answered with a status other than OK.

    Args:
        code: a grpc.StatusCode.
        message: what went wrong; its first 1024 characters are sent.
    """

    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        super().__init__(message[:1024])
        self.code = code


def invalid_argument(message: str) -> ServingError:
    return ServingError(grpc.StatusCode.INVALID_ARGUMENT, message)


class Servable:
    """A model that answers from many threads.

    Args:
        name: under which it is served.
        base_path: folder with a numbered folder for each version.

    Attributes:
        version: int, the highest there when the model was loaded.
        signatures: {name: SignatureDef}.
        about: what the export says of its model (languages, examples).

    Raises:
        UserError: there is no version.
    """

    def __init__(self, name: str, base_path: str | os.PathLike[str]) -> None:
        folder = exported_version(base_path)
        if folder is None or not folder.name.isdecimal():
            raise UserError(
                f"{base_path}: expected a folder with a numbered folder for each version, got none;"
                " write one with rnnsearch export"
            )
        self.name = name
        self.version = int(folder.name)
        self._model = SavedModel(folder)
        self.signatures = {
            key: signature
            for key, signature in self._model.signatures.items()
            if not key.startswith("__saved_model_init")
        }
        self.about = read_about(folder)
        if (folder / WARM_UP).exists():
            for record in tf.compat.v1.io.tf_record_iterator(str(folder / WARM_UP)):
                log = prediction_log_pb2.PredictionLog.FromString(record)
                self.predict(log.predict_log.request, LONGEST_RUN)

    def signature(self, name: str) -> Any:
        """The SignatureDef of this name; no name: serving_default."""
        name = name or DEFAULT_SIGNATURE
        if name not in self.signatures:
            raise ServingError(
                grpc.StatusCode.FAILED_PRECONDITION, f'Serving signature key "{name}" not found.'
            )
        return self.signatures[name]

    def predict(self, request: predict_pb2.PredictRequest, seconds: float) -> dict[str, np.ndarray]:
        """Answer a PredictRequest, see :meth:`run`."""
        try:
            inputs = {name: to_array(value) for name, value in request.inputs.items()}
        except ValueError as error:
            raise invalid_argument(f"tensor parsing error: {error}") from None
        outputs = list(request.output_filter)
        return self.run(request.model_spec.signature_name, inputs, outputs, seconds)

    def run(
        self, name: str, inputs: dict[str, np.ndarray], outputs: list[str], seconds: float
    ) -> dict[str, np.ndarray]:
        """Run a signature.

        Args:
            name: of the signature; empty: serving_default.
            inputs: {name: array}, strings as bytes in object arrays.
            outputs: names of the outputs; empty: all.
            seconds: after which the run is broken off.

        Raises:
            ServingError: the request does not fit the signature, or what TensorFlow says.
        """
        signature = self.signature(name)
        if set(inputs) != set(signature.inputs):
            raise invalid_argument(
                f"expected the inputs {', '.join(sorted(signature.inputs))}, got"
                f" {', '.join(sorted(inputs)) or 'none'}"
            )
        for key, array in inputs.items():
            expected = tf.as_dtype(signature.inputs[key].dtype)
            if tf.as_dtype(array.dtype) != expected:
                raise invalid_argument(
                    f"input {key}: expected {expected.name}, got {tf.as_dtype(array.dtype).name}"
                )
        for key in outputs:
            if key not in signature.outputs or outputs.count(key) > 1:
                raise invalid_argument(
                    f"output_filter: expected some of {', '.join(sorted(signature.outputs))}, each"
                    f" once, got {', '.join(outputs)}"
                )
        try:
            return self._model.run(
                name or DEFAULT_SIGNATURE, inputs, outputs, min(seconds, LONGEST_RUN)
            )
        except tf.errors.OpError as error:
            # in an error's context is the runtime's message, without Python's stack
            original = error.__context__ if isinstance(error.__context__, type(error)) else error
            code = CODES.get(error.error_code, grpc.StatusCode.UNKNOWN)
            raise ServingError(code, original.message) from None
        except (TypeError, ValueError) as error:  # an array that cannot be fed
            raise invalid_argument(str(error)) from None
