"""Requests that no handler sees leave nothing behind, no traceback in the log nor memory."""

import gc
import time

import grpc
import pytest

from rnnsearch_tf.extras.server.grpc_server import GrpcServer

CALLS = 50


@pytest.fixture(scope="module")
def channel():
    server = GrpcServer(core=None)  # nothing below gets as far as that
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        yield channel
    server.stop(0)


@pytest.mark.parametrize(
    "method, body, code, message",
    [
        ("PredictionService/Predict", b"\xff", "INTERNAL", "Exception deserializing request!"),
        ("ModelService/GetModelStatus", b"\xff", "INTERNAL", "Exception deserializing request!"),
        ("PredictionService/Classify", b"", "UNIMPLEMENTED", "Method not implemented!"),
        ("PredictionService/MultiInference", b"", "UNIMPLEMENTED", "Method not implemented!"),
    ],
    ids=["predict", "status", "classify", "multi_inference"],
)
def test_a_status_and_nothing_more(channel, caplog, method, body, code, message):
    call = channel.unary_unary(f"/tensorflow.serving.{method}")
    for _ in range(CALLS):
        with pytest.raises(grpc.RpcError) as caught:
            call(body, timeout=20)
        assert (caught.value.code().name, caught.value.details()) == (code, message)
    assert caplog.text == ""
    end = time.monotonic() + 10
    while (
        kept := states_kept()
    ) > CALLS // 5 and time.monotonic() < end:  # the last ones may be on their way out
        time.sleep(0.3)
    assert kept <= CALLS // 5


def states_kept() -> int:
    gc.collect()
    return sum(type(thing).__name__ == "_RPCState" for thing in gc.get_objects())
