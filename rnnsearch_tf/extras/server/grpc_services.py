"""gRPC: Predict, GetModelMetadata and GetModelStatus of TensorFlow Serving."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import grpc
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from rnnsearch_tf.extras.server.servable import (
    DEFAULT_SIGNATURE,
    Servable,
    ServingError,
    invalid_argument,
)
from rnnsearch_tf.extras.server.tensors import to_proto

AVAILABLE = get_model_status_pb2.ModelVersionStatus.AVAILABLE


def status_of(model: Servable) -> get_model_status_pb2.GetModelStatusResponse:
    answer = get_model_status_pb2.GetModelStatusResponse()
    row = answer.model_version_status.add(version=model.version, state=AVAILABLE)
    row.status.SetInParent()
    return answer


def _answering(method: Callable[..., Any]) -> Callable[..., Any]:
    """A handler of a request, whose ModelSpec gets the version that answers; a ServingError
    becomes the status of the call.
    """

    @functools.wraps(method)
    def handler(self: Any, request: Any, context: grpc.ServicerContext) -> Any:
        spec = request.model_spec
        try:
            if not spec.name or spec.version_label:
                raise invalid_argument("model_spec: expected a name, and no version_label")
            self.model.check(spec.name, spec.version.value if spec.HasField("version") else None)
            spec.version.value = self.model.version
            return method(self, request, context)
        except ServingError as error:
            return context.abort(error.code, str(error))

    return handler


class Services(
    prediction_service_pb2_grpc.PredictionServiceServicer,
    model_service_pb2_grpc.ModelServiceServicer,
):
    """Both services, of one model."""

    def __init__(self, model: Servable) -> None:
        self.model = model

    @_answering
    def Predict(self, request: Any, context: grpc.ServicerContext) -> Any:
        left = context.time_remaining()  # None: no deadline
        outputs = self.model.predict(request, math.inf if left is None else left)
        answer = predict_pb2.PredictResponse(model_spec=request.model_spec)
        answer.model_spec.signature_name = request.model_spec.signature_name or DEFAULT_SIGNATURE
        for name, array in outputs.items():
            answer.outputs[name].CopyFrom(to_proto(array))
        return answer

    @_answering
    def GetModelMetadata(self, request: Any, context: grpc.ServicerContext) -> Any:
        if list(request.metadata_field) != ["signature_def"]:
            raise invalid_argument("metadata_field: expected signature_def")
        answer = get_model_metadata_pb2.GetModelMetadataResponse(model_spec=request.model_spec)
        signatures = get_model_metadata_pb2.SignatureDefMap(signature_def=self.model.signatures)
        answer.metadata["signature_def"].Pack(signatures)
        return answer

    @_answering
    def GetModelStatus(self, request: Any, context: grpc.ServicerContext) -> Any:
        return status_of(self.model)
