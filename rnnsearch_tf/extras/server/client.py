"""A gRPC client that translates: for this project's server and for tensorflow_model_server.

gRPC waits for a server that does not listen yet, and repeats a request that returns UNAVAILABLE
(the connection broke, or the queue is full), by the channel's service configuration. An address may
stand for several replicas: they are asked in turn, and one that is gone is left out until it is
back.
"""

from __future__ import annotations

import concurrent.futures
import json
import logging
import pathlib
import queue
import threading
from collections.abc import Iterable, Iterator

import grpc
import tensorflow as tf
from tensorflow_serving.apis import model_pb2, predict_pb2, prediction_service_pb2_grpc

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.text.pipeline import list_of_texts

log = logging.getLogger("rnnsearch_tf")

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
CHANNEL_OPTIONS = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.service_config", json.dumps(SERVICE_CONFIGURATION)),
]


class Client:
    """Translates lists of texts with a served model; safe to use from many threads.

    Args:
        address: HOST:PORT of the server's gRPC interface; of several replicas
            ``ipv4:IP:PORT,IP:PORT``, or ``dns:///NAME:PORT`` of a name that has the addresses of
            them all.
        model_name: the served model.
        version: of the model; None: the latest.
        deadline: seconds for one request, its retries included.
        credentials: grpc.ChannelCredentials for TLS, or None for plain text.

    Example::

        with Client("127.0.0.1:8500", "mt") as client:
            client.translate(["a cat"])
    """

    def __init__(
        self,
        address: str,
        model_name: str,
        *,
        version: int | None = None,
        deadline: float = 60.0,
        credentials: grpc.ChannelCredentials | None = None,
    ) -> None:
        self._where = f"{address}: model {model_name}"
        self._deadline = deadline
        self._spec = model_pb2.ModelSpec(name=model_name, signature_name="serving_default")
        if version is not None:
            self._spec.version.value = version
        self._channel = (
            grpc.secure_channel(address, credentials, CHANNEL_OPTIONS)
            if credentials
            else grpc.insecure_channel(address, CHANNEL_OPTIONS)
        )
        self._predict = prediction_service_pb2_grpc.PredictionServiceStub(self._channel).Predict

    def translate(self, texts: Iterable[str | bytes]) -> list[str]:
        """The translations of a list of texts, as one request; what is not UTF-8 becomes
        U+FFFD.

        Raises:
            UsageError: `texts` are no list of strings.
            UserError: the server refused, did not answer in time, or has another kind of model.
        """
        values = [
            text.encode(errors="surrogatepass") if isinstance(text, str) else text
            for text in list_of_texts(texts, "texts")
        ]
        if not values:
            return []
        request = predict_pb2.PredictRequest(model_spec=self._spec)
        request.inputs["text"].CopyFrom(tf.make_tensor_proto(values, tf.string))
        try:
            answer = self._predict(request, timeout=self._deadline, wait_for_ready=True)
        except grpc.RpcError as error:
            raise UserError(
                f"{self._where}: expected a translation, got {error.code().name}:"
                f" {error.details()}; check the address and the model's name, or raise the deadline"
            ) from None
        translations = answer.outputs["translation"].string_val
        if len(translations) != len(values):
            raise UserError(
                f"{self._where}: expected {len(values)} strings as output `translation`, got"
                f" {len(translations)}; is it a translation model?"
            )
        if cut := sum(answer.outputs["source_truncated"].bool_val):
            log.warning(
                f"warning: {self._where}: {cut} of {len(values)} texts are longer than the model"
                " takes, and were cut"
            )
        return [text.decode("utf-8", "replace") for text in translations]

    def translate_batches(
        self, batches: Iterable[Iterable[str | bytes]], concurrency: int = 1
    ) -> Iterator[list[str]]:
        """Translate an iterable of lists of texts, `concurrency` at a time; yields the results in
        its order, each as soon as it is there: `batches` is read in a thread of its own.

        Raises:
            UserError: as :meth:`translate`, at the first batch that has no result.
        """
        arrived: queue.Queue[concurrent.futures.Future[list[str]] | Exception | None]
        arrived = queue.Queue(2 * concurrency)
        pool = concurrent.futures.ThreadPoolExecutor(concurrency)

        def read() -> None:
            try:
                for texts in batches:
                    arrived.put(pool.submit(self.translate, texts))
                arrived.put(None)
            except Exception as error:  # of the input: raised in its turn
                arrived.put(error)

        threading.Thread(target=read, daemon=True).start()
        try:
            while (next_one := arrived.get()) is not None:
                if isinstance(next_one, Exception):
                    raise next_one
                yield next_one.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self._channel.close()


def tls_credentials(
    ca: AnyPath, certificate: AnyPath | None = None, key: AnyPath | None = None
) -> grpc.ChannelCredentials:
    """Credentials for TLS from PEM files.

    Args:
        ca: the authority that the server's certificate is checked by.
        certificate, key: the client's own, where the server asks for one; both or none.
    """
    return grpc.ssl_channel_credentials(
        *(file and pathlib.Path(file).read_bytes() for file in (ca, key, certificate))
    )
