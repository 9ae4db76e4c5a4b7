"""What a model's process does: it loads one version and answers frames until it is killed."""

from __future__ import annotations

import concurrent.futures
import os
import select
import socket
import threading
import time
import traceback
from typing import Any

import grpc
from google.protobuf import descriptor_pb2
from google.protobuf.message import DecodeError, Message
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    model_pb2,
    model_service_pb2,
    predict_pb2,
    prediction_service_pb2,
)

from rnnsearch_tf.extras.server import (
    checks,
    frames,
    json_bytes,
    json_tensors,
    memory,
    tensors,
)
from rnnsearch_tf.extras.server.batching import Batcher
from rnnsearch_tf.extras.server.errors import ServingError, deadline_exceeded, invalid_argument
from rnnsearch_tf.extras.server.frames import Kind
from rnnsearch_tf.extras.server.servable import Servable

SIGNATURES = "signature_def"


def main(connection: socket.socket, settings: dict[str, Any]) -> None:
    """Load the version, say so, and answer; does not return.

    Args:
        connection: to the server.
        settings: `name`, `version`, `path` of the SavedModel, `threads` that answer, `runs`
            of the model at once, `intra_op` threads of an operation (0: TensorFlow chooses),
            `warm_up`, `batching`, `rows` of a request at most.
    """
    threading.Thread(target=_end_with_server, args=[connection], daemon=True).start()
    try:
        Worker(connection, settings).serve()
    except EOFError:  # the server has ended
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def _end_with_server(connection: socket.socket) -> None:
    """End the process when the server has ended, also while a model is loaded."""
    hang_up = select.poll()
    hang_up.register(connection, 0)
    hang_up.poll()
    os._exit(0)


class Worker:
    """One version, its threads, and the socket to the server; see `main`."""

    def __init__(self, connection: socket.socket, settings: dict[str, Any]):
        self._connection = connection
        self._sending = threading.Lock()
        self._settings = settings
        self._threads = concurrent.futures.ThreadPoolExecutor(settings["threads"])
        self._batcher: Batcher | None = None

    def serve(self) -> None:
        try:
            self._servable = Servable(
                self._settings["path"], self._settings["runs"], self._settings["intra_op"]
            )
            if self._settings["warm_up"]:
                self._servable.warm_up()
        except ServingError as error:
            self._answer(frames.LOADED, error.code, error.message.encode())
        else:
            if self._settings["batching"]:
                self._batcher = Batcher(self._servable.run)
            self._answer(frames.LOADED, grpc.StatusCode.OK, messages())
        requests = self._connection.makefile("rb")
        while True:
            header = frames.receive(requests, frames.REQUEST.size)
            number, kind, seconds, size = frames.REQUEST.unpack(header)
            data = frames.receive(requests, size)
            self._threads.submit(self._serve, number, Kind(kind), data, time.monotonic() + seconds)

    def _serve(self, number: int, kind: Kind, data: bytes, end: float) -> None:
        code = grpc.StatusCode.OK
        try:
            answer = self._METHODS[kind](self, data, end)
        except ServingError as error:
            code, answer = error.code, error.message.encode()
        except DecodeError:
            code, answer = grpc.StatusCode.INTERNAL, b"Exception deserializing request!"
        except MemoryError:
            code, answer = grpc.StatusCode.RESOURCE_EXHAUSTED, b"The request takes too much memory"
        except Exception:
            traceback.print_exc()
            code = grpc.StatusCode.INTERNAL
            answer = b"Internal error; the server's log says more"
        self._answer(number, code, answer)
        if max(len(data), len(answer)) > memory.LARGE:
            del data, answer
            memory.give_back()

    def _answer(self, number: int, code: grpc.StatusCode, data: bytes) -> None:
        with self._sending:
            self._connection.sendall(frames.ANSWER.pack(number, code.value[0], len(data)))
            self._connection.sendall(data)

    def _predict(self, data: bytes, end: float) -> bytes:
        request = predict_pb2.PredictRequest.FromString(data)
        self._check_rows(checks.rows(request.inputs))
        name, outputs = self._run(
            request.model_spec.signature_name, request.inputs, list(request.output_filter), end
        )
        answer = predict_pb2.PredictResponse(
            model_spec=self._spec(name),
            outputs={name: tensors.to_proto(array) for name, array in outputs.items()},
        )
        return answer.SerializeToString()

    def _rest_predict(self, data: bytes, end: float) -> bytes:
        document = json_tensors.parse(data)
        name = json_tensors.signature_name(document)
        try:
            _, signature = checks.find_signature(self._servable.signatures, name)
        except ServingError:  # gRPC's way to say it
            raise invalid_argument(
                f'Serving signature name: "{name}" not found in signature def'
            ) from None
        self._check_rows(json_tensors.row_count(document))
        inputs, form = json_tensors.to_inputs(document, signature.inputs)
        return json_tensors.to_body(self._run(name, inputs, [], end)[1], form)

    def _metadata(self, data: bytes, end: float) -> bytes:
        request = get_model_metadata_pb2.GetModelMetadataRequest.FromString(data)
        if not request.metadata_field:
            raise invalid_argument(
                "GetModelMetadataRequest must specify at least one metadata_field"
            )
        for field in request.metadata_field:
            if field != SIGNATURES:
                raise invalid_argument(f"Metadata field {field} is not supported")
        answer = get_model_metadata_pb2.GetModelMetadataResponse(model_spec=self._spec())
        answer.metadata[SIGNATURES].Pack(self._signatures())
        return answer.SerializeToString()

    def _rest_metadata(self, data: bytes, end: float) -> bytes:
        return b'{"model_spec": %s, "metadata": {"signature_def": %s}}' % (
            json_bytes.encode_message(self._spec(), proto_names=True),
            json_bytes.encode_message(self._signatures(), proto_names=True),
        )

    def _probe(self, data: bytes, end: float) -> bytes:
        self._servable.probe(end)
        return b""

    _METHODS = {
        Kind.PREDICT: _predict,
        Kind.METADATA: _metadata,
        Kind.REST_PREDICT: _rest_predict,
        Kind.REST_METADATA: _rest_metadata,
        Kind.PROBE: _probe,
    }

    def _run(
        self, name: str, inputs: Any, wanted: list[str], end: float
    ) -> tuple[str, dict[str, Any]]:
        """(name of the signature, {output: array}) of a request."""
        name, signature = checks.find_signature(self._servable.signatures, name)
        arrays = checks.to_arrays(signature, inputs)
        outputs = checks.output_names(signature, wanted)
        if end <= time.monotonic():
            raise deadline_exceeded()
        run = self._servable.run if self._batcher is None else self._batcher.run
        return name, dict(zip(outputs, run(name, arrays, outputs, end)))

    def _check_rows(self, count: int) -> None:
        if count > self._settings["rows"]:
            raise invalid_argument(
                f"expected at most {self._settings['rows']} rows in a request, got {count}; "
                "send fewer at once, or start the server with a larger --max_request_rows"
            )

    def _spec(self, signature: str = "") -> model_pb2.ModelSpec:
        spec = model_pb2.ModelSpec(name=self._settings["name"], signature_name=signature)
        spec.version.value = self._settings["version"]
        return spec

    def _signatures(self) -> Message:
        return get_model_metadata_pb2.SignatureDefMap(signature_def=self._servable.signatures)


def messages() -> bytes:
    """The messages and services of the API as a FileDescriptorSet, serialized: the server has no
    TensorFlow, whose messages they use.
    """
    files: dict[str, Any] = {}

    def add(file: Any) -> None:
        for needed in file.dependencies:
            add(needed)
        files.setdefault(file.name, file)

    for module in (prediction_service_pb2, model_service_pb2):
        add(module.DESCRIPTOR)
    result = descriptor_pb2.FileDescriptorSet()
    for file in files.values():
        file.CopyToProto(result.file.add())
    return result.SerializeToString()
