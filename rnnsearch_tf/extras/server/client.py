"""A gRPC client that translates: for this project's server and for tensorflow_model_server.

gRPC itself waits for a server that does not listen yet, and repeats a request that returns
UNAVAILABLE (the model is started again, its queue is full, or the connection broke), by the
channel's service configuration: five times, and not if the connection broke when a part of the
answer had come. The client repeats both until the deadline. Repeating a translation is safe: it
gives the same result.

An address may stand for several replicas. They are asked in turn, and one that is gone is left out
until it is back.
"""

from __future__ import annotations

import concurrent.futures
import json
import logging
import pathlib
import queue
import threading
import time
import typing
from collections.abc import Iterable, Iterator

import grpc
from tensorflow.core.framework import types_pb2
from tensorflow.core.framework.tensor_pb2 import TensorProto
from tensorflow.core.framework.tensor_shape_pb2 import TensorShapeProto
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.export.publishing import LARGEST_VERSION
from rnnsearch_tf.extras.server.tls import check_authority, check_certificate
from rnnsearch_tf.files import AnyPath

log = logging.getLogger("rnnsearch_tf")

DEADLINE = 60.0  # seconds
LONGEST_DEADLINE = 1e9  # seconds; gRPC's clock overflows at nine times as many
RETRIES = {
    "maxAttempts": 5,  # gRPC's limit; they take about 8 seconds
    "initialBackoff": "0.5s",
    "maxBackoff": "5s",
    "backoffMultiplier": 2,
    "retryableStatusCodes": ["UNAVAILABLE"],
}
SERVICE_CONFIGURATION = {
    "methodConfig": [{"name": [{}], "retryPolicy": RETRIES}],
    "loadBalancingConfig": [{"round_robin": {}}],  # of the replicas that an address stands for
}
PAUSE = 0.1  # seconds, before a request is sent once more that gRPC has given up
CHANNEL_OPTIONS = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.service_config", json.dumps(SERVICE_CONFIGURATION)),
]
ADVICE = {
    grpc.StatusCode.INVALID_ARGUMENT: "correct the request, or send smaller batches",
    grpc.StatusCode.RESOURCE_EXHAUSTED: "send smaller batches",
    grpc.StatusCode.NOT_FOUND: "check the model's name and version",
    grpc.StatusCode.FAILED_PRECONDITION: (
        "check the signature's name; only the export of a calibrated RUN has confidence"
    ),
    grpc.StatusCode.DEADLINE_EXCEEDED: (
        "check the address and that the server runs, with TLS on both sides or on none; or allow a"
        " longer deadline, or send smaller batches"
    ),
    grpc.StatusCode.UNAVAILABLE: "the server is busy or starting; try again later",
    grpc.StatusCode.UNIMPLEMENTED: "check that the address is the gRPC port of a model server",
}


class Translated(typing.NamedTuple):
    """The translation of one text; score is None where the model's signature has none, the others
    where they were not asked for.

    `confidence` is how sure the model is of the sentence, from 0 to 1, `word_confidences` of each
    of its words, what spaces separate.
    """

    text: str
    score: float | None = None
    confidence: float | None = None
    word_confidences: list | None = None


def _as_bytes(texts) -> list:
    """The texts as a list of bytes; UsageError unless they are str or bytes."""
    if not isinstance(texts, Iterable):
        raise UsageError(
            f"texts: expected a list of texts, got {type(texts).__name__} {texts!r}; give a list of"
            " str"
        )
    values = [text.encode("utf-8", "replace") if isinstance(text, str) else text for text in texts]
    for number, value in enumerate(values):
        if not isinstance(value, bytes):
            raise UsageError(
                f"texts[{number}]: expected a text as str, got {type(value).__name__} {value!r}"
            )
    return values


class Client:
    """Translates lists of texts with a served model; safe to use from many threads.

    Args:
        address: HOST:PORT of the server's gRPC interface; of several replicas
            ``ipv4:IP:PORT,IP:PORT``, or ``dns:///NAME:PORT`` of a name that has the addresses of
            them all.
        model_name: the served model.
        version, label: of the model; both None: the latest.
        signature: one with an input `text` and an output `translation`.
        confidence: True asks how sure the model is, too, by its signature `confidence`.
        deadline: seconds for one request, its retries included.
        credentials: grpc.ChannelCredentials for TLS, or None for plain text.

    Example::

        with Client("127.0.0.1:8500", "mt") as client:
            client.translate(["a cat"])[0].text
    """

    def __init__(
        self,
        address: str,
        model_name: str,
        *,
        version: int | None = None,
        label: str | None = None,
        signature: str = "serving_default",
        confidence: bool = False,
        deadline: float = DEADLINE,
        credentials: grpc.ChannelCredentials | None = None,
    ) -> None:
        if version is not None and not 0 <= version <= LARGEST_VERSION:
            raise UsageError(
                f"version: expected a whole number from 0 to {LARGEST_VERSION}, got {version};"
                " leave it out for the latest"
            )
        self.address = address
        self.confidence = confidence
        self.deadline = deadline
        # all outputs, as everyone asks: a server merges only requests for the same ones
        self._request = predict_pb2.PredictRequest()
        self._request.model_spec.name = model_name
        self._request.model_spec.signature_name = signature
        if version is not None:
            self._request.model_spec.version.value = version
        if label is not None:
            self._request.model_spec.version_label = label
        self._closed = False
        self._channel = (
            grpc.secure_channel(address, credentials, CHANNEL_OPTIONS)
            if credentials
            else grpc.insecure_channel(address, CHANNEL_OPTIONS)
        )
        self._predict = prediction_service_pb2_grpc.PredictionServiceStub(self._channel).Predict

    @typing.overload
    def translate(  # type: ignore[overload-overlap]  # str is an Iterable[str]
        self, texts: str | bytes
    ) -> Translated: ...

    @typing.overload
    def translate(self, texts: Iterable[str | bytes]) -> list[Translated]: ...

    def translate(self, texts: typing.Any) -> typing.Any:
        """The translations of a list of texts, as one request, and as a second one how sure the
        model is of them, if that is asked for.

        Args:
            texts: iterable of str or bytes, or one of them.

        Returns:
            list[Translated], one for each text; for a single text, its Translated. Bytes that are
            not UTF-8 become U+FFFD.

        Raises:
            UsageError: `texts` are not texts.
            UserError: the server refused, did not answer in time, or has another kind of model.
        """
        if isinstance(texts, (str, bytes)):
            return self.translate([texts])[0]
        texts = _as_bytes(texts)
        if not texts:
            return []
        outputs = self._outputs(text=texts)
        translation = outputs["translation"]
        scores = list(outputs["score"].float_val)
        if len(translation.string_val) != len(texts):
            raise UserError(
                f"{self._name}: expected {len(texts)} strings as output `translation`, got"
                f" {len(translation.string_val)} ({types_pb2.DataType.Name(translation.dtype)}); is"
                " it a translation model?"
            )
        if cut := sum(outputs["source_truncated"].bool_val):
            log.warning(
                "warning: %s: %d of %d texts are longer than the model takes, and were cut",
                self._name,
                cut,
                len(texts),
            )
        strings = [text.decode("utf-8", "replace") for text in translation.string_val]
        scores = scores if len(scores) == len(strings) else [None] * len(strings)
        sure = [()] * len(strings)
        if self.confidence:
            sure = self._confidences(texts, _as_bytes(strings))
        return [Translated(text, score, *more) for text, score, more in zip(strings, scores, sure)]

    def _confidences(self, sources, translations):
        """[(confidence, those of the words)]."""
        outputs = self._outputs("confidence", source=sources, target=translations)
        words = [json.loads(numbers) for numbers in outputs["word_confidences"].string_val]
        return list(zip(outputs["confidence"].float_val, words, strict=True))

    def _outputs(self, signature=None, **inputs):
        """The outputs of one request, whose inputs are lists of bytes; without a signature that of
        translations.
        """
        request = predict_pb2.PredictRequest()
        request.CopyFrom(self._request)
        request.model_spec.signature_name = signature or request.model_spec.signature_name
        for name, values in inputs.items():
            shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=len(values))])
            request.inputs[name].CopyFrom(
                TensorProto(dtype=types_pb2.DT_STRING, tensor_shape=shape, string_val=values)
            )
        return self._answer(request).outputs

    def translate_batches(
        self, batches: Iterable[Iterable[str | bytes]], concurrency: int = 1
    ) -> Iterator[list[Translated]]:
        """Translate an iterable of lists of texts, several at a time, and yield the results in its
        order.

        A result is yielded as soon as it and those before it have arrived, also
        while `batches` keeps the next one waiting: it is read in a thread of its
        own, at most 2 × concurrency batches ahead.

        Raises:
            UserError: as `translate`, at the first batch that has no result. Close
                the client then, so that nothing waits for the others.
        """
        # futures in order, None at the end
        arrived: queue.SimpleQueue[typing.Any] = queue.SimpleQueue()
        room = threading.Semaphore(2 * concurrency)
        done = threading.Event()
        pool = concurrent.futures.ThreadPoolExecutor(concurrency, thread_name_prefix="client")

        def read():
            try:
                for texts in batches:
                    room.acquire()
                    if done.is_set():
                        return
                    arrived.put(pool.submit(self.translate, texts))
                arrived.put(None)
            except Exception as error:  # of the input: comes out in its turn
                failed = concurrent.futures.Future()
                failed.set_exception(error)
                arrived.put(failed)

        threading.Thread(target=read, name="client-reader", daemon=True).start()
        try:
            while (future := arrived.get()) is not None:
                yield future.result()
                room.release()
        finally:
            done.set()
            room.release()
            pool.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """Give up what is under way and close the connection."""
        self._closed = True
        self._channel.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    @property
    def _name(self) -> str:
        return f"{self.address}: model {self._request.model_spec.name}"

    def _answer(self, request):
        end = time.monotonic() + min(self.deadline, LONGEST_DEADLINE)
        refused = None
        while True:
            seconds = max(0.0, end - time.monotonic())
            try:
                return self._predict(request, timeout=seconds, wait_for_ready=True)
            except (grpc.RpcError, ValueError) as error:  # ValueError: the channel is closed
                if self._closed or isinstance(error, ValueError):
                    raise UserError(
                        f"{self._name}: expected an answer, got none before the client was closed"
                    ) from None
                if error.code() is grpc.StatusCode.UNAVAILABLE and seconds:
                    refused = error
                    time.sleep(min(PAUSE, seconds))
                elif error.code() is grpc.StatusCode.DEADLINE_EXCEEDED and refused:
                    raise self._explained(refused) from None
                else:
                    raise self._explained(error) from None

    def _explained(self, error) -> UserError:
        advice = ADVICE.get(error.code(), "see the server's log")
        return UserError(
            f"{self._name}: expected a translation, got {error.code().name}: {error.details()};"
            f" {advice}"
        )


def tls_credentials(
    ca: AnyPath, certificate: AnyPath | None = None, key: AnyPath | None = None
) -> grpc.ChannelCredentials:
    """Credentials for TLS from PEM files.

    Args:
        ca: the authority that the server's certificate is checked by.
        certificate, key: the client's own, where the server asks for one; both or none.

    Raises:
        UserError: a file cannot be read or has something else, or the key is not the
            certificate's.
    """
    check_authority(ca, str(ca))
    if certificate and key:
        check_certificate(certificate, key, f"{certificate}, {key}")
    return grpc.ssl_channel_credentials(
        *(file and pathlib.Path(file).read_bytes() for file in (ca, key, certificate))
    )
