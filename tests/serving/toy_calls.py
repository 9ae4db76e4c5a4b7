"""Calls of a served toy model over gRPC, as a test writes them."""

import grpc
import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import (
    get_model_status_pb2,
    model_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

PATIENCE = 30  # seconds for any one answer


class Toy:
    """A client of the model `toy`.

    Example:
        with Toy(f"127.0.0.1:{server.grpc_port}") as toy:
            toy.predict("half_plus", x=[2.0])["y"]
    """

    def __init__(self, address, credentials=None):
        self.channel = (
            grpc.secure_channel(address, credentials)
            if credentials
            else grpc.insecure_channel(address)
        )
        self.stub = prediction_service_pb2_grpc.PredictionServiceStub(self.channel)
        self._management = model_service_pb2_grpc.ModelServiceStub(self.channel)

    def predict(
        self,
        signature="",
        *,
        timeout=PATIENCE,
        version=None,
        label="",
        wait_for_ready=False,
        **inputs,
    ):
        """{output: array}."""
        request = self.request(signature, version, label, inputs)
        return decoded(self.stub.Predict(request, timeout=timeout, wait_for_ready=wait_for_ready))

    def begin(self, signature="", *, timeout=PATIENCE, **inputs):
        """The call on its way: a future whose result `decoded` takes."""
        return self.stub.Predict.future(self.request(signature, None, "", inputs), timeout=timeout)

    def status(self):
        """{version: ModelVersionStatus}."""
        request = get_model_status_pb2.GetModelStatusRequest(
            model_spec=model_pb2.ModelSpec(name="toy")
        )
        return {
            row.version: row
            for row in self._management.GetModelStatus(
                request, timeout=PATIENCE
            ).model_version_status
        }

    def request(self, signature, version, label, inputs):
        request = predict_pb2.PredictRequest()
        request.model_spec.name = "toy"
        request.model_spec.signature_name = signature
        request.model_spec.version_label = label
        if version is not None:
            request.model_spec.version.value = version
        for name, value in inputs.items():
            floats = isinstance(value, list) and all(isinstance(number, float) for number in value)
            request.inputs[name].CopyFrom(
                tf.make_tensor_proto(np.float32(value) if floats else value)
            )
        return request

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.channel.close()


def decoded(response):
    return {name: tf.make_ndarray(tensor) for name, tensor in response.outputs.items()}


def refusal(function, *arguments, **options):
    """(status name, message) of a call that is refused."""
    try:
        answer = function(*arguments, **options)
    except grpc.RpcError as error:
        return error.code().name, error.details()
    raise AssertionError(f"expected a refusal, got {answer}")
