"""Warm-up: requests stored with a SavedModel, answered once before clients are."""

from __future__ import annotations

import pathlib

import grpc
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from rnnsearch_tf.extras.server import checks
from rnnsearch_tf.extras.server.errors import ServingError, invalid_argument
from rnnsearch_tf.extras.server.servable import as_serving_error

FILE = pathlib.PurePath("assets.extra", "tf_serving_warmup_requests")
MOST_RECORDS = 1000


def warm_up(servable, path, iterations=1):
    """Run every request of the SavedModel's warm-up file, if it has one.

    Args:
        servable: a Servable.
        path: folder of its SavedModel.
        iterations: how often.

    Raises:
        ServingError: a request fails, or is none; the version must not be served.
    """
    file = pathlib.Path(path) / FILE
    if not file.exists():
        return
    for number, request in enumerate(_requests(file), start=1):
        if number > MOST_RECORDS:
            raise invalid_argument(
                f"Number of warmup records exceeds the maximum ({MOST_RECORDS}): {file}"
            )
        try:
            name, signature = checks.find_signature(
                servable.signatures, request.model_spec.signature_name
            )
            inputs = checks.to_arrays(signature, request.inputs)
            outputs = checks.output_names(signature, list(request.output_filter))
            for _ in range(iterations):
                servable.run(name, inputs, outputs)
        except ServingError as error:
            raise ServingError(
                error.code, f"warm-up request {number} of {file}: {error.message}"
            ) from None


def _requests(file):
    try:
        for record in tf.compat.v1.io.tf_record_iterator(str(file)):
            log = prediction_log_pb2.PredictionLog.FromString(record)
            if log.WhichOneof("log_type") != "predict_log":
                raise ServingError(
                    grpc.StatusCode.UNIMPLEMENTED,
                    f"{file}: expected predict_log records, got {log.WhichOneof('log_type')}",
                )
            yield log.predict_log.request
    except Exception as error:
        raise as_serving_error(error) from None
