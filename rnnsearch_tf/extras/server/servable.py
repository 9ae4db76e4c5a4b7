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
from rnnsearch_tf.export.warmup import WARM_UP_FILE
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
                f"{base_path}: expected a folder with a SavedModel in a numbered folder for each"
                " version, got none; write one with rnnsearch export"
            )
        self.name = name
        self.version = int(folder.name)
        self._model = SavedModel(folder)
        self.signatures = self._model.signatures
        self.signatures.pop("__saved_model_init_op", None)
        self.about = read_about(folder)
        if (folder / WARM_UP_FILE).exists():
            for record in tf.compat.v1.io.tf_record_iterator(str(folder / WARM_UP_FILE)):
                log = prediction_log_pb2.PredictionLog.FromString(record)
                self.predict(log.predict_log.request, LONGEST_RUN)

    def close(self) -> None:
        """Break off the runs under way, and answer no more."""
        self._model.close()

    def check(self, name: str, version: int | None = None) -> None:
        """Raise ServingError unless the model has this name and version; None: any version."""
        if name != self.name or version not in (None, self.version):
            asked = name if version is None else f"{name}, version {version}"
            raise ServingError(
                grpc.StatusCode.NOT_FOUND,
                f"expected the model {self.name}, version {self.version}, got {asked}",
            )

    def signature(self, name: str) -> Any:
        """The SignatureDef of this name; no name: serving_default."""
        if (name or DEFAULT_SIGNATURE) not in self.signatures:
            raise ServingError(
                grpc.StatusCode.FAILED_PRECONDITION,
                f"expected one of the signatures {', '.join(self.signatures)}, got {name}",
            )
        return self.signatures[name or DEFAULT_SIGNATURE]

    def predict(self, request: predict_pb2.PredictRequest, seconds: float) -> dict[str, np.ndarray]:
        """Answer a PredictRequest, see :meth:`run`."""
        inputs = {}
        for name, value in request.inputs.items():
            try:
                inputs[name] = to_array(value)
            except ValueError as error:
                raise invalid_argument(f"input {name}: {error}") from None
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
        expected = {key: tf.as_dtype(each.dtype).name for key, each in signature.inputs.items()}
        got = {key: tf.as_dtype(array.dtype).name for key, array in inputs.items()}
        if got != expected:
            raise invalid_argument(f"expected the inputs {expected}, got {got}")
        if len(set(outputs).intersection(signature.outputs)) < len(outputs):
            raise invalid_argument(
                f"output_filter: expected some of {', '.join(signature.outputs)}, each once, got"
                f" {', '.join(outputs)}"
            )
        seconds = min(seconds, LONGEST_RUN)
        try:
            return self._model.run(name or DEFAULT_SIGNATURE, inputs, outputs, seconds)
        except tf.errors.OpError as error:
            # in an error's context is the runtime's message, without Python's stack
            original = error.__context__ if isinstance(error.__context__, type(error)) else error
            code = CODES.get(error.error_code, grpc.StatusCode.UNKNOWN)
            raise ServingError(code, original.message) from None
        except (TypeError, ValueError) as error:  # an array that cannot be fed
            raise invalid_argument(str(error)) from None
