"""gRPC: Predict, GetModelMetadata and GetModelStatus of TensorFlow Serving."""

from __future__ import annotations

import functools
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
    LONGEST_RUN,
    Servable,
    ServingError,
    invalid_argument,
)
from rnnsearch_tf.extras.server.tensors import to_proto

AVAILABLE = get_model_status_pb2.ModelVersionStatus.AVAILABLE


def check_served(model: Servable, name: str, version: int | None) -> None:
    """Raise ServingError unless the model has this name and version; version None: the newest."""
    if name != model.name or version not in (None, model.version):
        asked = name if version is None else f"{name}, version {version}"
        raise ServingError(
            grpc.StatusCode.NOT_FOUND,
            f"Servable not found for request: expected {model.name}, version {model.version}, got"
            f" {asked}",
        )


def status_of(model: Servable) -> get_model_status_pb2.GetModelStatusResponse:
    answer = get_model_status_pb2.GetModelStatusResponse()
    row = answer.model_version_status.add(version=model.version, state=AVAILABLE)
    row.status.SetInParent()
    return answer


def _answering(method: Callable[..., Any]) -> Callable[..., Any]:
    """A handler of a request with a ModelSpec; a ServingError becomes the status of the call."""

    @functools.wraps(method)
    def handler(self: Any, request: Any, context: grpc.ServicerContext) -> Any:
        spec = request.model_spec
        try:
            if not request.HasField("model_spec"):
                raise invalid_argument("Missing ModelSpec")
            if spec.version_label:
                raise invalid_argument(f"Unrecognized servable version label: {spec.version_label}")
            version = spec.version.value if spec.HasField("version") else None
            check_served(self.model, spec.name, version)
            return method(self, request, context)
        except ServingError as error:
            code, message = error.code, str(error)
        context.abort(code, message)

    return handler


class PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    def __init__(self, model: Servable) -> None:
        self.model = model

    @_answering
    def Predict(self, request: Any, context: grpc.ServicerContext) -> Any:
        left = context.time_remaining()
        outputs = self.model.predict(request, LONGEST_RUN if left is None else left)
        answer = predict_pb2.PredictResponse()
        answer.model_spec.name = self.model.name
        answer.model_spec.version.value = self.model.version
        answer.model_spec.signature_name = request.model_spec.signature_name or DEFAULT_SIGNATURE
        for name, array in outputs.items():
            answer.outputs[name].CopyFrom(to_proto(array))
        return answer

    @_answering
    def GetModelMetadata(self, request: Any, context: grpc.ServicerContext) -> Any:
        if list(request.metadata_field) != ["signature_def"]:
            raise invalid_argument("metadata_field: expected signature_def")
        answer = get_model_metadata_pb2.GetModelMetadataResponse()
        answer.model_spec.name = self.model.name
        answer.model_spec.version.value = self.model.version
        signatures = get_model_metadata_pb2.SignatureDefMap(signature_def=self.model.signatures)
        answer.metadata["signature_def"].Pack(signatures)
        return answer


class ModelService(model_service_pb2_grpc.ModelServiceServicer):
    def __init__(self, model: Servable) -> None:
        self.model = model

    @_answering
    def GetModelStatus(self, request: Any, context: grpc.ServicerContext) -> Any:
        return status_of(self.model)
