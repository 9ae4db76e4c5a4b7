"""A Core without TensorFlow behind it: what REST asks of one, answered in NumPy."""

import threading

import grpc
import numpy as np
from tensorflow.core.framework import types_pb2
from tensorflow.core.protobuf.meta_graph_pb2 import SignatureDef, TensorInfo
from tensorflow_serving.apis import get_model_metadata_pb2, get_model_status_pb2

from rnnsearch_tf.extras.server.errors import ServingError, not_found
from rnnsearch_tf.extras.server.metrics import Metrics


def signature(**inputs):
    return SignatureDef(
        inputs={name: TensorInfo(name=f"{name}:0", dtype=dtype) for name, dtype in inputs.items()}
    )


class FakeCore:
    """One model `toy` of version 3, label `stable`; `gate` keeps :predict waiting while it is
    cleared.
    """

    signatures = {
        "serving_default": signature(text=types_pb2.DT_STRING),
        "half": signature(x=types_pb2.DT_FLOAT),
        "fail": signature(code=types_pb2.DT_STRING),
        "broken": signature(x=types_pb2.DT_FLOAT),
    }

    def __init__(self):
        self.metrics = Metrics()
        self.gate, self.arrived = threading.Event(), threading.Event()
        self.gate.set()
        self.deadline = None

    def find(self, spec):
        if spec.name != "toy":
            raise not_found(f"Servable not found for request: Latest({spec.name})")
        if spec.HasField("version") and spec.version.value != 3:
            raise not_found(f"Servable not found for request: Specific(toy, {spec.version.value})")
        if spec.version_label not in ("", "stable"):
            raise ServingError(
                grpc.StatusCode.INVALID_ARGUMENT,
                f"Unrecognized servable version label: {spec.version_label}",
            )

    def signature(self, spec):
        self.find(spec)
        if (spec.signature_name or "serving_default") not in self.signatures:
            raise ServingError(
                grpc.StatusCode.FAILED_PRECONDITION,
                f'Serving signature key "{spec.signature_name}" not found.',
            )
        return self.signatures[spec.signature_name or "serving_default"]

    def check_rows(self, count):
        if count > 5000:
            raise ServingError(
                grpc.StatusCode.INVALID_ARGUMENT, f"expected at most 5000 rows, got {count}"
            )

    def predict(self, spec, inputs, output_filter=(), deadline=None, cancelled=None):
        self.deadline = deadline
        self.arrived.set()
        assert self.gate.wait(20)
        if spec.signature_name == "half":
            return spec, {"y": inputs["x"] / np.float32(2)}
        if spec.signature_name == "fail":
            raise ServingError(grpc.StatusCode[inputs["code"][0].decode()], "as asked")
        if spec.signature_name == "broken":
            raise ZeroDivisionError("a fault of the server")
        texts = np.array([text.upper() for text in inputs["text"].flat] + [None], object)[:-1]
        return spec, {
            "translation": texts,
            "score": np.float32([len(text) for text in inputs["text"].flat]),
        }

    def status(self, request):
        self.find(request.model_spec)
        answer = get_model_status_pb2.GetModelStatusResponse()
        answer.model_version_status.add(
            version=3, state=get_model_status_pb2.ModelVersionStatus.AVAILABLE
        ).status.error_code = 0
        return answer

    def metadata(self, request):
        self.find(request.model_spec)
        assert list(request.metadata_field) == ["signature_def"]
        answer = get_model_metadata_pb2.GetModelMetadataResponse(model_spec=request.model_spec)
        answer.model_spec.version.value = 3
        answer.metadata["signature_def"].Pack(
            get_model_metadata_pb2.SignatureDefMap(signature_def=self.signatures)
        )
        return answer
