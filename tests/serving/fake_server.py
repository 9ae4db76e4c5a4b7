"""A PredictionService that answers as a test tells it to, for the client's tests."""

import concurrent.futures
import threading

import grpc
from tensorflow.core.framework import types_pb2
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc


class FakeServer(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Answers `text` in capitals; `refusals` are given first, one a request; a text `wait` waits
    for `gate`.

    Attributes:
        requests: those that came, in order of their arrival.
    """

    def __init__(self, port=0, credentials=None):
        self.requests = []
        self.refusals = []
        self.gate = threading.Event()
        self._server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
        prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(self, self._server)
        where = f"127.0.0.1:{port}"
        self.port = (
            self._server.add_secure_port(where, credentials)
            if credentials
            else self._server.add_insecure_port(where)
        )
        self._server.start()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def Predict(self, request, context):
        self.requests.append(request)
        if self.refusals:
            code = self.refusals.pop(0)
            context.abort(code, f"refused with {code.name}")
        texts = list(request.inputs["text"].string_val)
        if b"wait" in texts:
            self.gate.wait(30)
        answer = predict_pb2.PredictResponse()
        tensor = answer.outputs["translation"]
        tensor.dtype = types_pb2.DT_STRING
        tensor.tensor_shape.dim.add(size=len(texts))
        tensor.string_val.extend(text.decode().upper().encode() for text in texts)
        answer.outputs["source_truncated"].bool_val.extend(len(text) > 100 for text in texts)
        return answer

    def stop(self):
        self.gate.set()
        self._server.stop(0).wait()
