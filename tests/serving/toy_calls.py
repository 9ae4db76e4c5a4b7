"""A served toy model, its calls over gRPC as a test writes them, and its processes."""

import contextlib
import os
import time

import grpc
import numpy as np
import psutil
import tensorflow as tf
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tensorflow_serving.apis import (
    get_model_status_pb2,
    model_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from rnnsearch_tf.extras.server.flags import FREE, Flags
from rnnsearch_tf.extras.server.server import Server

PATIENCE = 30  # seconds for any one answer


def toy_server(base, **flags):
    """A Server of the model `toy` on free ports, to be entered."""
    ports = {"port": FREE, "rest_api_port": FREE}
    return Server(Flags({"toy": str(base)}, **ports | flags))


def wait_until(condition, seconds=PATIENCE):
    """Return once the condition holds; fail if it does not in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition did not come true"
        time.sleep(0.01)


def model_processes(server=None):
    """The models' processes of the process `server`, by default of this one: set of
    psutil.Process.
    """
    return {
        process
        for launcher in psutil.Process(server or os.getpid()).children()
        if "rnnsearch_tf.extras.server.launcher" in " ".join(command(launcher))
        for process in launcher.children()
    }


def command(process):
    """The words that a process was started with; none if it has ended."""
    with contextlib.suppress(psutil.Error):
        return process.cmdline()
    return []


class Toy:
    """A client of the model `toy`, or of another one.

    Example:
        with Toy(f"127.0.0.1:{server.grpc_port}") as toy:
            toy.predict("half_plus", x=[2.0])["y"]
    """

    def __init__(self, address, credentials=None, model="toy"):
        self._model = model
        self.channel = (
            grpc.secure_channel(address, credentials)
            if credentials
            else grpc.insecure_channel(address)
        )
        self.stub = prediction_service_pb2_grpc.PredictionServiceStub(self.channel)
        self.management = model_service_pb2_grpc.ModelServiceStub(self.channel)
        self._health = health_pb2_grpc.HealthStub(self.channel)

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
            model_spec=model_pb2.ModelSpec(name=self._model)
        )
        answer = self.management.GetModelStatus(request, timeout=PATIENCE)
        return {row.version: row for row in answer.model_version_status}

    def states(self):
        """{version: name of its state}."""
        return {version: type(row).State.Name(row.state) for version, row in self.status().items()}

    def health(self, service=""):
        """The name of the status that the health service gives."""
        request = health_pb2.HealthCheckRequest(service=service)
        answer = self._health.Check(request, timeout=PATIENCE)
        return health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)

    def request(self, signature, version, label, inputs):
        request = predict_pb2.PredictRequest()
        request.model_spec.name = self._model
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
